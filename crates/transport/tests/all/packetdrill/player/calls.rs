//! Calls of a script: what they do at once, and what they wait for.

use super::*;

impl Player<'_> {
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[String],
        result: i64,
        error: Option<&str>,
        until: Time,
    ) -> Step {
        let fd = arguments[0].parse().unwrap_or(-1);
        let number = |position: usize| {
            arguments.get(position).and_then(|a| a.parse::<u64>().ok()).unwrap_or(0)
        };
        let nonblocking = self.descriptors.get(&fd).is_some_and(|d| d.nonblocking);
        let pending = |bytes| {
            Some(Pending { name: name.into(), fd, bytes, done: 0, result, error: None, until })
        };
        if error == Some("EFAULT") {
            return unsupported("bad pointers");
        }
        match name {
            "socket" => {
                if !arguments[1].starts_with("SOCK_STREAM") {
                    return unsupported(format!("socket of {}", arguments[1]));
                }
                let nonblocking = arguments[1].contains("SOCK_NONBLOCK");
                self.descriptors.insert(result, Descriptor { nonblocking, ..Default::default() });
            }
            "bind" => {}
            "listen" => self.listening = true,
            "fcntl" => {
                if arguments[1] == "F_SETFL" {
                    let flags = arguments.get(2).is_some_and(|a| a.contains("O_NONBLOCK"));
                    self.descriptors.entry(fd).or_default().nonblocking = flags;
                }
            }
            "setsockopt" => return self.option(arguments),
            "connect" => {
                if self.tcp.is_some() {
                    return unsupported("a second connection");
                }
                self.tcp = Some(Connection::connect(&Arc::new(self.config.clone()), self.now));
                self.accepted = true;
                self.descriptors.entry(fd).or_default().connected = true;
                if nonblocking {
                    return self.returned(name, -1, Some("EINPROGRESS"), result, error);
                }
                self.pending = pending(0);
            }
            "accept" => {
                if nonblocking && (self.accepted || !self.is_established()) {
                    return self.returned(name, -1, Some("EAGAIN"), result, error);
                }
                self.pending = pending(0);
            }
            "write" | "send" | "sendto" | "read" | "recv" => {
                if !self.descriptors.get(&fd).is_some_and(|d| d.connected) {
                    return unsupported(format!("{name} without a connection"));
                }
                let flags = arguments.get(3).map_or("0", String::as_str);
                if !["0", "MSG_NOSIGNAL", "MSG_DONTWAIT"].contains(&flags) {
                    return unsupported(format!("{name} with {flags}"));
                }
                self.pending = pending(number(2));
                if nonblocking || flags == "MSG_DONTWAIT" {
                    self.collect();
                    let now = self.attempt();
                    if let Some((value, code)) = now {
                        self.pending = None;
                        return self.returned(name, value, code, result, error);
                    }
                    let done = self.pending.take().map_or(0, |pending| pending.done);
                    return if done > 0 {
                        self.returned(name, done as i64, None, result, error)
                    } else {
                        self.returned(name, -1, Some("EAGAIN"), result, error)
                    };
                }
            }
            "close" => {
                let connected = self.descriptors.remove(&fd).is_some_and(|d| d.connected);
                let Some(tcp) = self.tcp.as_mut().filter(|_| connected) else { return Ok(()) };
                // What was not read is lost, and the other end hears of it (RFC 1122, 4.2.2.13).
                if tcp.readable() > 0 { tcp.abort(self.now) } else { tcp.close(self.now) }
            }
            "shutdown" => match (arguments[1].as_str(), &mut self.tcp) {
                (how @ ("SHUT_WR" | "SHUT_RDWR"), Some(tcp)) => {
                    tcp.close(self.now);
                    self.descriptors.entry(fd).or_default().shut = how == "SHUT_RDWR";
                }
                _ => return unsupported(format!("shutdown of {}", arguments[1])),
            },
            _ => return unsupported(name),
        }
        if let Some(pending) = &mut self.pending {
            pending.result = result;
            pending.error = error.map(str::to_string);
        }
        Ok(())
    }

    fn option(&mut self, arguments: &[String]) -> Step {
        match arguments[2].as_str() {
            "SO_REUSEADDR" | "TCP_NODELAY" | "IP_TOS" | "IP_MTU_DISCOVER" => Ok(()),
            "SO_SNDBUF"
                if arguments[3]
                    .trim_matches(['[', ']'])
                    .parse::<u64>()
                    .is_ok_and(|bytes| bytes >= 200_000) =>
            {
                Ok(())
            }
            other => unsupported(format!("socket option {other} {}", arguments[3])),
        }
    }

    fn is_established(&self) -> bool {
        self.tcp.as_ref().is_some_and(Connection::is_established)
    }

    fn returned(
        &self,
        name: &str,
        value: i64,
        code: Option<&str>,
        wanted: i64,
        error: Option<&str>,
    ) -> Step {
        if value != wanted || (wanted < 0 && code != error) {
            let code = code.unwrap_or("");
            let error = error.unwrap_or("");
            return failed(format!("{name} gave {value} {code} in place of {wanted} {error}"));
        }
        Ok(())
    }

    /// What the pending call gives, if it returns now.
    fn attempt(&mut self) -> Option<(i64, Option<&'static str>)> {
        let pending = self.pending.as_mut()?;
        let tcp = self.tcp.as_mut()?;
        let shut = self.descriptors.get(&pending.fd).is_some_and(|descriptor| descriptor.shut);
        let reset = match tcp.state() {
            State::Closed { reason: CloseReason::Reset } => Some("ECONNRESET"),
            State::Closed { reason: CloseReason::TimedOut } => Some("ETIMEDOUT"),
            _ => None,
        };
        match pending.name.as_str() {
            "connect" if reset == Some("ECONNRESET") => Some((-1, Some("ECONNREFUSED"))),
            "connect" if tcp.is_established() => Some((0, None)),
            "accept" if tcp.is_established() && !self.accepted => {
                self.accepted = true;
                let fd = pending.result;
                self.descriptors.insert(fd, Descriptor { connected: true, ..Default::default() });
                Some((fd, None))
            }
            "read" | "recv" => {
                let bytes = tcp.readable().min(pending.bytes);
                if bytes > 0 {
                    tcp.read(self.now, bytes);
                    Some((bytes as i64, None))
                } else if tcp.peer_closed() || shut {
                    Some((0, None))
                } else {
                    reset.map(|code| (-1, Some(code)))
                }
            }
            "write" | "send" | "sendto" => {
                let closing = matches!(
                    tcp.state(),
                    State::Closing | State::LastAck | State::TimeWait | State::Closed { .. }
                );
                if closing || shut {
                    return Some((-1, Some("EPIPE")));
                }
                pending.done += tcp.write(self.now, pending.bytes - pending.done);
                (pending.done == pending.bytes).then_some((pending.done as i64, None))
            }
            _ => None,
        }
    }

    /// Lets the call that waits return, if it can.
    pub(super) fn resume(&mut self) -> Step {
        let Some((value, code)) = self.attempt() else { return Ok(()) };
        let Some(pending) = self.pending.take() else { return Ok(()) };
        self.returned(&pending.name, value, code, pending.result, pending.error.as_deref())?;
        if self.now > pending.until + self.tolerance {
            return failed(format!("{} returned too late", pending.name));
        }
        self.collect();
        Ok(())
    }
}
