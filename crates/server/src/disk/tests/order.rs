use super::*;
use crate::clock::Clock;
use std::io::Write;

fn seven() -> Arc<OpenFile> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 100_000]).unwrap();
    open(file, false)
}

/// One that is due later than the next ones, as an arm that is far away would bring it.
#[test]
fn a_read_that_is_kept_back_holds_nobody_back() {
    for way in ways() {
        let Disk { way: how, .. } = start(way, 2, None);
        let read = |job, turn| match &how {
            Backend::Ring(thread) => thread.read(job, turn),
            Backend::Threads(threads) => threads.read(job, turn),
        };
        let (taker, file) = (Arc::<Taker>::default(), seven());
        let paced = Paced::new(&medium(Duration::from_millis(500)));
        // From behind it the arm has to go back.
        ask(&paced, &taker.job(&file, 50_000, 0, Buffer::short(5000)));
        let late = taker.job(&file, 0, 0, Buffer::short(5000));
        let turn = ask(&paced, &late);
        read(late, Some(turn));
        for slot in 1..50 {
            read(taker.job(&file, 0, slot, Buffer::short(5000)), None);
        }
        let taken = taker.wait(50);
        assert_eq!(taken[49].slot, 0, "{way:?}");
        assert!(paced.report().lateness_max_s > 0.0, "{way:?}: it was not delivered");
    }
}

/// A disk that is only thought of takes its time, and no more.
#[test]
fn reads_come_when_they_are_due() {
    for way in ways() {
        let medium = medium(Duration::from_millis(5));
        let (disk, taker) = (start(way, 3, Some(&medium)), Arc::<Taker>::default());
        let (file, clock) = (seven(), Clock::started());
        for slot in 0..40 {
            let offset = u64::from((40 - slot) * 1000);
            disk.read(taker.job(&file, offset, slot, Buffer::short(500)));
        }
        taker.wait(40);
        let took = clock.now().seconds();
        let report = disk.pace().unwrap();
        assert_eq!((report.reads, report.positioned_reads), (40, 40));
        // To the first one it only reads on. A machine that is busy is late.
        assert!((0.19..2.0).contains(&took), "{way:?}: {took}");
    }
}

/// Jobs that come while it sleeps, while it reads, and from several at once.
#[test]
fn no_job_is_overlooked() {
    for way in ways() {
        let (disk, taker) = (start(way, 3, None), Arc::<Taker>::default());
        let file = seven();
        thread::scope(|scope| {
            for begin in [0, 1000, 2000] {
                let (disk, taker, file) = (&disk, &taker, &file);
                scope.spawn(move || {
                    for slot in begin..begin + 1000 {
                        disk.read(taker.job(file, u64::from(slot), slot, Buffer::short(64)));
                        if slot % 50 == 0 {
                            thread::sleep(Duration::from_micros(u64::from(slot)));
                        }
                    }
                });
            }
        });
        let mut slots: Vec<u32> = taker.wait(3000).iter().map(|it| it.slot).collect();
        slots.sort_unstable();
        assert!(slots.iter().copied().eq(0..3000), "{way:?}");
        // One at a time, each when it sleeps again.
        for slot in 3000..3100 {
            disk.read(taker.job(&file, 0, slot, Buffer::short(64)));
            taker.wait(slot as usize + 1);
        }
    }
}
