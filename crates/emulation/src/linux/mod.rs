//! What this system offers: namespaces, interfaces, clocks.

mod clock;
mod lab;
mod namespace;
mod netlink;
mod tun;

pub use clock::{monotonic_ns, set_real_time};
pub use lab::{Lab, LabReport, Second};
pub use namespace::{Namespace, become_root_of_own, die_with_parent, enter, set_apart};
pub use tun::{HostSettings, open_tun};
