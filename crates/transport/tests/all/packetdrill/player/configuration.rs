//! Shell commands of a script, as far as they set what our TCP knows.

use super::*;

impl Player<'_> {
    pub(super) fn shell(&mut self, text: &str) -> Step {
        if text.contains("sysctl_restore") {
            return Ok(());
        }
        let text = text.replace("\\\n", " ");
        for command in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let program = command.split_whitespace().next().unwrap_or("");
            if program.ends_with("defaults.sh") {
                let Ok(defaults) = std::fs::read_to_string(self.folder.join(program)) else {
                    return unsupported(format!("{program} is missing"));
                };
                for line in defaults.lines().filter(|line| line.starts_with("sysctl")) {
                    // What is not ours to set, the defaults may set.
                    match self.sysctls(line) {
                        Err(Stop::Unsupported(_)) | Ok(()) => {}
                        Err(stop) => return Err(stop),
                    }
                }
            } else if program == "sysctl" || program.ends_with("set_sysctls.py") {
                self.sysctls(command)?;
            } else if !command.starts_with('#') {
                return unsupported(format!("shell command {command}"));
            }
        }
        Ok(())
    }

    fn sysctls(&mut self, command: &str) -> Step {
        for setting in command.split_whitespace().take_while(|word| !word.starts_with('#')) {
            let Some((name, value)) = setting.split_once('=') else { continue };
            let name = name.rsplit(['.', '/']).next().unwrap_or("");
            let on = value != "0";
            match name {
                "tcp_timestamps" => self.config.timestamps = on,
                "tcp_sack" => self.config.sack = on,
                "tcp_dsack" => self.config.dsack = on,
                "tcp_window_scaling" => self.config.window_scaling = on,
                "tcp_slow_start_after_idle" => self.config.idle_restart = on,
                "tcp_early_retrans" => self.config.tail_loss_probe = on,
                "tcp_recovery" => self.config.rack = on,
                "tcp_syn_retries" => self.config.syn_retries = value.parse().unwrap_or(6),
                "tcp_ecn" => {
                    self.config.ecn = match value {
                        "0" => Ecn::Off,
                        "1" => Ecn::On,
                        "2" => Ecn::Passive,
                        "3" => Ecn::Accurate,
                        _ => return unsupported(format!("tcp_ecn {value}")),
                    };
                }
                "tcp_congestion_control" => {
                    self.config.controller = match value {
                        "cubic" => Kind::CubicLinux,
                        "reno" => Kind::NewReno,
                        _ => return unsupported(format!("congestion control {value}")),
                    };
                }
                "tcp_min_tso_segs"
                | "tcp_tso_win_divisor"
                | "tcp_fastopen"
                | "tcp_reordering"
                | "tcp_wmem"
                | "tcp_rmem"
                | "tcp_pacing_ss_ratio"
                | "tcp_ecn_option" => {}
                _ => return unsupported(format!("sysctl {name}")),
            }
        }
        Ok(())
    }
}
