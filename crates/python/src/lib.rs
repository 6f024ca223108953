//! The extension module `flashcrowd._core`: private, typed by `_core.pyi`, used by
//! `flashcrowd.engines`.

mod build;
#[cfg(target_os = "linux")]
mod content_server;
mod division;
#[cfg(target_os = "linux")]
mod emulation;
mod faults;
#[cfg(target_os = "linux")]
mod last_resort;
mod plan;
mod profiles;
mod rules;
mod simulate;
mod table;
mod task;
#[cfg(target_os = "linux")]
mod torrent_client;
mod upload;
mod utp;

use pyo3::prelude::*;

/// Asks for huge pages (`.cargo/config.toml`), which a swarm's memory is large enough for.
#[cfg(all(target_os = "linux", feature = "huge-pages"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The engines, compiled.
#[pymodule(gil_used = false)]
mod _core {
    use super::*;

    #[pymodule_export]
    use crate::build::build_info;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::content_server::{ContentServer, content_memory, content_policies};
    #[pymodule_export]
    use crate::division::Division;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::emulation::{
        IdlePoll, Lab, become_root_of_own, die_with_parent, divide, echo_times, enter_namespace,
        may_have_real_time, polls_idle, set_apart, try_tun,
    };
    #[pymodule_export]
    use crate::faults::{Cancelled, EngineFault, PlanError};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::last_resort::LastResort;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::profiles::{
        check_settings, client_profiles, ledbat_tables, request_queue_time_s, settings_schema,
        tcp_profiles, upload_controllers, upload_slots, upload_states, utp_profiles,
    };
    #[pymodule_export]
    use crate::rules::{
        CallRules, DownloadRules, OriginRules, PingRules, SwarmPeer, SwarmRules, SwarmWatch,
        TrackerRegister, TransferRules, WebRules, run_ending, run_table, swarm_waits,
        with_undelivered,
    };
    #[pymodule_export]
    use crate::simulate::{RunHandle, available_memory, plan_schema, simulate};
    #[pymodule_export]
    use crate::table::Table;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::torrent_client::TorrentClient;
    #[pymodule_export]
    use crate::upload::UploadController;
    #[pymodule_export]
    use crate::utp::{UtpFlow, UtpServer, UtpTransfer};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::faults::listen();
        Ok(())
    }
}
