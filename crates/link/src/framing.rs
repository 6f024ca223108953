use serde::{Deserialize, Serialize};

/// Bytes of an ATM cell (ITU-T I.361), of which [`CELL_PAYLOAD`] carry the frame.
const CELL: u64 = 53;
const CELL_PAYLOAD: u64 = 48;

/// The size of a packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Framing {
    /// A frame that is longer than the IP packet by a constant.
    Plain {
        /// 38 for Ethernet with preamble and gap, 14 for what a Linux shaper counts, 0 for IP alone.
        overhead_bytes: u32,
    },
    /// Whole ATM cells, as on an ADSL line: 53 bytes for each 48 that AAL5 has to carry, and the
    /// last cell is padded (`linklayer atm` of Linux's tc, `atm` of its CAKE).
    Atm {
        /// Bytes that AAL5 carries with the IP packet, its own trailer of 8 bytes included: 40 for
        /// PPPoE with LLC/SNAP (RFC 2516: PPPoE and PPP 8, Ethernet 14; RFC 2684: LLC, SNAP and
        /// padding 10), 10 for PPPoA with virtual-circuit multiplexing (RFC 2364).
        encapsulation_bytes: u32,
    },
}

impl Default for Framing {
    /// The IP packet alone.
    fn default() -> Framing {
        Framing::Plain { overhead_bytes: 0 }
    }
}

impl Framing {
    /// The bytes of an IP packet of `bytes` on the wire; at most [`u32::MAX`].
    pub fn wire_bytes(self, bytes: u32) -> u32 {
        match self {
            Framing::Plain { overhead_bytes } => bytes.saturating_add(overhead_bytes),
            Framing::Atm { encapsulation_bytes } => {
                let carried = u64::from(bytes) + u64::from(encapsulation_bytes);
                u32::try_from(carried.div_ceil(CELL_PAYLOAD) * CELL).unwrap_or(u32::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_frame_has_its_overhead() {
        let ethernet = Framing::Plain { overhead_bytes: 38 };
        assert_eq!(ethernet.wire_bytes(1500), 1538);
        assert_eq!(ethernet.wire_bytes(u32::MAX), u32::MAX);
        assert_eq!(Framing::default().wire_bytes(40), 40);
    }

    /// Cells of PPPoE over LLC/SNAP: an acknowledgement of 40 bytes takes two cells (80 bytes are
    /// carried), a full packet 33 (1540 + 44 of padding), as the tables for ADSL shapers have it.
    #[test]
    fn atm_takes_whole_cells() {
        let pppoe = Framing::Atm { encapsulation_bytes: 40 };
        assert_eq!(pppoe.wire_bytes(40), 2 * 53);
        assert_eq!(pppoe.wire_bytes(56), 2 * 53);
        assert_eq!(pppoe.wire_bytes(57), 3 * 53);
        assert_eq!(pppoe.wire_bytes(1500), 33 * 53);
        // PPPoA with VC multiplexing: the MTU of 1478 that fills 31 cells.
        let pppoa = Framing::Atm { encapsulation_bytes: 10 };
        assert_eq!((pppoa.wire_bytes(1478), pppoa.wire_bytes(1479)), (31 * 53, 32 * 53));
        assert_eq!(pppoa.wire_bytes(u32::MAX), u32::MAX);
    }
}
