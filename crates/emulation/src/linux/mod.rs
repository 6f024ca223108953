//! The system's side: namespaces, interfaces, clocks.

mod carrier;
mod clock;
mod host;
mod idle_poll;
mod interfaces;
mod lab;
mod namespace;
mod netlink;
mod packet_ring;
mod steering;
mod tun;
mod veth;

pub use carrier::{CarrierReport, Company};
pub use clock::{monotonic_ns, set_real_time};
pub use host::HostSettings;
pub use idle_poll::{IdlePoll, polls_idle};
pub use interfaces::Attachment;
pub use lab::{Lab, LabReport, Second, Tuned};
pub use namespace::{Namespace, become_root_of_own, die_with_parent, enter, set_apart};
pub use steering::Steering;
pub use tun::open_tun;
