use tokio::net::TcpStream;

/// As much of `struct tcp_info` as is read (linux/tcp.h); newer kernels append to it, older ones write less.
const BYTES: usize = 232;

/// The kernel's report on a TCP connection (`TCP_INFO`): the fields by their offsets in Linux' interface,
/// which do not change. `None` is what this kernel does not report; elsewhere than on Linux, everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpInfo {
    bytes: [u8; BYTES],
    len: usize,
}

macro_rules! fields {
    ($($name:ident: $type:ty => $offset:literal;)*) => {
        $(pub(super) fn $name(&self) -> Option<$type> {
            let bytes = self.bytes[..self.len].get($offset..$offset + size_of::<$type>())?;
            Some(<$type>::from_ne_bytes(bytes.try_into().ok()?))
        })*
    };
}

impl TcpInfo {
    fields! {
        snd_mss: u32 => 16;
        unacked: u32 => 24;
        last_data_recv: u32 => 52;
        last_ack_recv: u32 => 56;
        rtt: u32 => 68;
        snd_cwnd: u32 => 80;
        total_retrans: u32 => 100;
        bytes_acked: u64 => 120;
        segs_out: u32 => 136;
        segs_in: u32 => 140;
        min_rtt: u32 => 148;
        snd_wnd: u32 => 228;
    }

    #[cfg(target_os = "linux")]
    #[allow(unsafe_code, reason = "no safe crate reads TCP_INFO")]
    pub(super) fn of(stream: &TcpStream) -> TcpInfo {
        use std::os::fd::AsRawFd;
        let mut info = TcpInfo { bytes: [0; BYTES], len: 0 };
        let mut len = BYTES as libc::socklen_t;
        // SAFETY: the file descriptor lives as long as `stream`; the kernel writes at most `len` bytes
        // to `bytes`, which has as many, and any bytes are valid there; it writes how many to `len`.
        let failed = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.bytes.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        if failed == 0 {
            info.len = (len as usize).min(BYTES);
        }
        info
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: &TcpStream) -> TcpInfo {
        TcpInfo { bytes: [0; BYTES], len: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_the_kernel_does_not_write_are_absent() {
        let mut info = TcpInfo { bytes: [0; BYTES], len: 104 };
        info.bytes[100..104].copy_from_slice(&7u32.to_ne_bytes());
        assert_eq!((info.total_retrans(), info.bytes_acked()), (Some(7), None));
    }
}
