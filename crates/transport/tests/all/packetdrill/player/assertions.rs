//! Assertions of a script about `TCP_INFO`.

use super::*;

impl Player<'_> {
    pub(super) fn code(&mut self, text: &str) -> Step {
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let Some(assertion) = line.strip_prefix("assert ") else {
                return unsupported(format!("code {line}"));
            };
            let condition = assertion.split(',').next().unwrap_or("");
            for part in condition.split(" and ") {
                self.assertion(part.trim())?;
            }
        }
        Ok(())
    }

    fn assertion(&self, condition: &str) -> Step {
        for operator in ["==", "!=", "<=", ">=", "<", ">"] {
            if let Some((left, right)) = condition.split_once(operator) {
                let (left, right) = (self.value(left.trim())?, self.value(right.trim())?);
                let holds = match operator {
                    "==" => left == right,
                    "!=" => left != right,
                    "<=" => left <= right,
                    ">=" => left >= right,
                    "<" => left < right,
                    _ => left > right,
                };
                return if holds { Ok(()) } else { failed(format!("{condition}: it is {left}")) };
            }
        }
        unsupported(format!("assertion {condition}"))
    }

    fn value(&self, word: &str) -> Step<u64> {
        if let Ok(number) = word.replace('_', "").parse() {
            return Ok(number);
        }
        let Some(tcp) = &self.tcp else { return failed("no connection") };
        let stats = tcp.stats();
        let mss = u64::from(stats.mss);
        Ok(match word {
            "tcpi_snd_cwnd" => stats.cwnd / mss,
            "tcpi_snd_ssthresh" if stats.ssthresh == u64::MAX => 2_147_483_647,
            "tcpi_snd_ssthresh" => stats.ssthresh / mss,
            "tcpi_unacked" => stats.outstanding.div_ceil(mss),
            "tcpi_sacked" => stats.sacked.div_ceil(mss),
            "tcpi_lost" => stats.lost.div_ceil(mss),
            "tcpi_retrans" => stats.retransmitted_in_flight.div_ceil(mss),
            "tcpi_delivered_ce" => stats.delivered_marked,
            "tcpi_reordering" => u64::from(stats.reordering),
            "tcpi_snd_mss" => mss,
            "tcpi_rtt" => stats.srtt.nanos() / 1000,
            "tcpi_min_rtt" => stats.min_rtt.nanos() / 1000,
            "tcpi_total_retrans" => stats.segments_retransmitted,
            "tcpi_bytes_acked" => stats.bytes_acked,
            "tcpi_ca_state" => match stats.phase {
                Phase::Open => u64::from(stats.sacked > 0),
                Phase::Cwr => 2,
                Phase::Recovery => 3,
                Phase::Loss => 4,
            },
            "TCP_CA_Open" => 0,
            "TCP_CA_Disorder" => 1,
            "TCP_CA_CWR" => 2,
            "TCP_CA_Recovery" => 3,
            "TCP_CA_Loss" => 4,
            other => return unsupported(other),
        })
    }
}
