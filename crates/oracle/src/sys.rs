//! The border to libutp: its callbacks, and the addresses it wants.

use crate::state::Inner;
use libutp_rs2_sys as utp;
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// libutp keeps a vector of its own in static memory while it writes (`utp_writev`), so only one
/// thread may be inside.
static INSIDE: Mutex<()> = Mutex::new(());

pub(crate) fn enter() -> MutexGuard<'static, ()> {
    INSIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The loopback address with this port, and its length.
pub(crate) fn address(port: u16) -> (libc::sockaddr_in, libc::socklen_t) {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
        #[cfg(any(target_os = "macos", target_os = "ios", target_os = "freebsd"))]
        sin_len: 0,
    };
    (address, size_of::<libc::sockaddr_in>() as libc::socklen_t)
}

/// The host that a context belongs to.
///
/// # Safety
///
/// `args` are those of a callback, of a context whose user data is an [`Inner`]. The reference
/// must not outlive the callback.
unsafe fn host<'a>(args: *mut utp::utp_callback_arguments) -> &'a mut Inner {
    // SAFETY: the caller's promise. `Libutp` holds no reference while libutp runs.
    unsafe { &mut *utp::utp_context_get_userdata((*args).context).cast::<Inner>() }
}

unsafe extern "C" fn on_sendto(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: libutp passes `len` bytes and an address of the kind it was given, IPv4.
    unsafe {
        let bytes = std::slice::from_raw_parts((*args).buf, (*args).len);
        let to = (*args).unnamed_field1.address.cast::<libc::sockaddr_in>();
        let port = u16::from_be(to.read_unaligned().sin_port);
        host(args).on_sendto(bytes, port, (*args).flags & utp::UTP_UDP_DONTFRAG != 0);
    }
    0
}

unsafe extern "C" fn on_read(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: libutp passes `len` bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts((*args).buf, (*args).len);
        host(args).on_read((*args).socket, bytes);
    }
    0
}

unsafe extern "C" fn on_state_change(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: the union holds the state in this callback.
    unsafe {
        let state = (*args).unnamed_field1.state as u32;
        host(args).on_state_change((*args).socket, state);
    }
    0
}

unsafe extern "C" fn on_error(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: the union holds the error in this callback.
    unsafe {
        let error = (*args).unnamed_field1.error_code as u32;
        host(args).on_error((*args).socket, error);
    }
    0
}

unsafe extern "C" fn on_accept(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: as for `host`.
    unsafe { host(args).on_accept((*args).socket) }
    0
}

unsafe extern "C" fn read_buffer_size(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: as for `host`.
    unsafe { host(args).unread((*args).socket) }
}

unsafe extern "C" fn udp_mtu(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: as for `host`.
    unsafe { host(args).mtu() }
}

unsafe extern "C" fn milliseconds(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: as for `host`.
    unsafe { host(args).micros() / 1000 }
}

unsafe extern "C" fn microseconds(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: as for `host`.
    unsafe { host(args).micros() }
}

unsafe extern "C" fn random(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: as for `host`.
    unsafe { host(args).random() }
}

unsafe extern "C" fn log(args: *mut utp::utp_callback_arguments) -> u64 {
    // SAFETY: libutp passes a string that ends with 0.
    unsafe {
        let line = std::ffi::CStr::from_ptr((*args).buf.cast());
        host(args).on_log(&line.to_string_lossy());
    }
    0
}

type Callback = unsafe extern "C" fn(*mut utp::utp_callback_arguments) -> u64;

/// Everything that libutp asks of the world.
pub(crate) const CALLBACKS: [(u32, Callback); 11] = [
    (utp::UTP_SENDTO, on_sendto),
    (utp::UTP_ON_READ, on_read),
    (utp::UTP_ON_STATE_CHANGE, on_state_change),
    (utp::UTP_ON_ERROR, on_error),
    (utp::UTP_ON_ACCEPT, on_accept),
    (utp::UTP_GET_READ_BUFFER_SIZE, read_buffer_size),
    (utp::UTP_GET_UDP_MTU, udp_mtu),
    (utp::UTP_GET_MILLISECONDS, milliseconds),
    (utp::UTP_GET_MICROSECONDS, microseconds),
    (utp::UTP_GET_RANDOM, random),
    (utp::UTP_LOG, log),
];
