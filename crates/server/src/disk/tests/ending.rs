use super::read::Read;
use super::*;
use std::io::{Write, pipe};
use std::os::fd::OwnedFd;

fn seven(length: usize) -> Arc<OpenFile> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![7; length]).unwrap();
    open(file, false)
}

/// Those that are under way when it is dropped, and those that wait for them.
#[test]
fn all_that_was_asked_for_is_read_before_the_threads_end() {
    for way in ways() {
        let (reads, asked) = (3, 7);
        let medium = medium(Duration::from_millis(50));
        let (disk, taker) = (start(way, reads, Some(&medium)), Arc::<Taker>::default());
        let file = seven(100_000);
        for slot in 0..asked {
            let offset = u64::from((asked - slot) * 10_000);
            disk.read(taker.job(&file, offset, slot, Buffer::short(5000)));
        }
        drop((disk, file));
        assert!(taker.count() < asked as usize, "the test is too slow to say anything");
        let taken = taker.wait(asked as usize);
        assert!(taken.iter().all(|it| it.outcome == ReadOutcome::Whole && it.bytes == [7; 5000]));
        ended(&taken);
        // Nothing refers to who asked, nor to the files.
        assert_eq!(Arc::strong_count(&taker), 1, "{way:?}");
    }
}

#[test]
fn one_that_sleeps_ends_too() {
    for way in ways() {
        let (disk, taker) = (start(way, 2, None), Arc::<Taker>::default());
        disk.read(taker.job(&seven(100), 0, 0, Buffer::short(100)));
        let taken = taker.wait(1);
        thread::sleep(Duration::from_millis(20));
        drop(disk);
        ended(&taken);
    }
}

/// A read that the kernel does not end for a while: of a pipe, into which nothing is written. Threads do not read pipes (`pread`).
#[test]
fn a_read_that_takes_long_is_awaited_and_holds_nobody_back() {
    if !ways().contains(&Reader::IoUring) {
        return;
    }
    let (disk, taker) = (start(Reader::IoUring, 2, None), Arc::<Taker>::default());
    let (reader, mut writer) = pipe().unwrap();
    let slow = open(File::from(OwnedFd::from(reader)), false);
    disk.read(taker.job(&slow, 0, 0, Buffer::short(4096)));
    let file = seven(100_000);
    for slot in 1..50 {
        disk.read(taker.job(&file, u64::from(slot), slot, Buffer::short(5000)));
    }
    assert!(taker.wait(49).iter().all(|it| it.slot != 0 && it.bytes == [7; 5000]));
    drop(disk);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(taker.count(), 49);
    // In parts: the rest is asked for.
    for part in [[1; 96].as_slice(), &[2; 4000]] {
        thread::sleep(Duration::from_millis(5));
        writer.write_all(part).unwrap();
    }
    let taken = taker.wait(50);
    assert_eq!(taken[49].bytes, [[1; 96].as_slice(), &[2; 4000]].concat());
    ended(&taken);
}

/// Also where a ring goes with what it holds, as when the thread panics.
#[test]
fn memory_stays_until_the_kernel_has_written() {
    if !ways().contains(&Reader::IoUring) {
        return;
    }
    let (queue, mut ring) = ring(2).unwrap();
    let taker = Arc::<Taker>::default();
    let (reader, mut writer) = pipe().unwrap();
    let slow = open(File::from(OwnedFd::from(reader)), false);
    let job = taker.job(&slow, 0, 0, Buffer::short(4096));
    assert!(ring.advance(Read::new(job, None, Scratch::new(2 * ALIGNMENT))).is_none());
    let dropping = thread::spawn(move || drop((ring, queue)));
    thread::sleep(Duration::from_millis(50));
    assert!(!dropping.is_finished());
    assert_eq!(Arc::strong_count(&taker), 2);
    writer.write_all(&[1; 4096]).unwrap();
    dropping.join().unwrap();
    assert_eq!((Arc::strong_count(&taker), taker.count()), (1, 0));
}
