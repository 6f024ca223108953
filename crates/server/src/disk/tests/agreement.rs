use super::*;
use crate::memory_file::MemoryFile;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

/// A read, in a region or in a buffer of its own.
#[derive(Clone, Copy, Debug)]
struct Asked {
    offset: usize,
    length: usize,
    is_region: bool,
}

/// The change of a file when half of the reads were asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Nothing,
    /// To this much of it, in hundredths.
    Cut(usize),
    /// Other bytes in the same file.
    Rewritten,
    /// Its name is another file's, while reads are under way.
    Replaced,
}

fn asked() -> impl Strategy<Value = Asked> {
    let offset = prop_oneof![0usize..300_000, (0usize..70).prop_map(|unit| unit * ALIGNMENT)];
    let length = prop_oneof![1usize..=EXTENT as usize, Just(EXTENT as usize)];
    (offset, length, any::<bool>()).prop_map(|(offset, length, is_region)| {
        let length = if is_region { EXTENT as usize } else { length };
        Asked { offset, length, is_region }
    })
}

fn change() -> impl Strategy<Value = Change> {
    let cut = (0usize..100).prop_map(Change::Cut);
    prop_oneof![Just(Change::Nothing), cut, Just(Change::Rewritten), Just(Change::Replaced)]
}

/// The expected result of each of these reads: the bytes, or that the file is another one.
fn expected(content: &[u8], all: &[Asked], change: Change) -> Vec<Option<Vec<u8>>> {
    let is_other = matches!(change, Change::Cut(_) | Change::Rewritten);
    let of = |(number, asked): (usize, &Asked)| {
        let changed = is_other && number >= all.len() / 2;
        let bytes = content.get(asked.offset..asked.offset + asked.length);
        bytes.filter(|_| !changed).map(<[u8]>::to_vec)
    };
    all.iter().enumerate().map(of).collect()
}

/// The results.
fn read(
    reader: Reader,
    reads: u32,
    direct: bool,
    content: &[u8],
    all: &[Asked],
    change: Change,
) -> Vec<Option<Vec<u8>>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, content).unwrap();
    let file = open(File::open(&path).unwrap(), direct);
    let memory = MemoryFile::new(EXTENT as usize, all.len()).unwrap();
    let (disk, taker) = (start(reader, reads, None), Arc::<Taker>::default());
    for (number, asked) in all.iter().enumerate() {
        if number == all.len() / 2 {
            make(change, &path, content.len(), &taker, number);
        }
        let buffer = match asked.is_region {
            true => Buffer::Whole(memory.region().unwrap()),
            false => Buffer::short(asked.length),
        };
        disk.read(taker.job(&file, asked.offset as u64, number as u32, buffer));
    }
    let mut taken = taker.wait(all.len());
    taken.sort_by_key(|it| it.slot);
    let bytes = |it: Taken| match it.outcome {
        ReadOutcome::Whole => Some(it.bytes),
        ReadOutcome::Changed => None,
        ReadOutcome::Failed => panic!("the disk failed"),
    };
    taken.into_iter().map(bytes).collect()
}

/// A change of the bytes waits for the reads before it: of those under way anything may be read.
fn make(change: Change, path: &std::path::Path, length: usize, taker: &Taker, asked: usize) {
    if let Change::Cut(_) | Change::Rewritten = change {
        taker.wait(asked);
    }
    let file = || File::options().write(true).open(path).unwrap();
    match change {
        Change::Nothing => (),
        Change::Cut(hundredths) => file().set_len((length * hundredths / 100) as u64).unwrap(),
        Change::Rewritten => {
            let file = file();
            file.write_all_at(&vec![b'x'; length], 0).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        Change::Replaced => {
            let other = path.with_extension("new");
            fs::write(&other, vec![b'y'; length]).unwrap();
            fs::rename(other, path).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reads_of_any_order_bring_the_same_either_way(
        length in 1usize..250_000,
        all in proptest::collection::vec(asked(), 2..40),
        change in change(),
        reads in 1u32..6,
        direct in any::<bool>(),
    ) {
        let content: Vec<u8> = (0..length as u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        let expected = expected(&content, &all, change);
        for way in ways() {
            let found = read(way, reads, direct, &content, &all, change);
            for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                prop_assert!(found == expected, "{way:?}: {number}: {:?}", all[number]);
            }
        }
    }
}

/// Of two reads under way past the page cache, at places where the file system cannot, both come through it.
#[test]
fn the_page_cache_is_for_each_read_that_was_refused() {
    let content = vec![7; 3 * EXTENT as usize];
    for way in ways() {
        for _ in 0..20 {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &content).unwrap();
            let file = open(file.reopen().unwrap(), true);
            let (disk, taker) = (start(way, 4, None), Arc::<Taker>::default());
            for slot in 0..4 {
                disk.read(taker.job(&file, 1 + 2 * u64::from(slot), slot, Buffer::short(5000)));
            }
            for taken in taker.wait(4) {
                assert_eq!(taken.outcome, ReadOutcome::Whole, "{way:?}");
                assert_eq!(taken.bytes, [7; 5000]);
            }
            assert!(!file.is_direct());
        }
    }
}

/// Reading a directory fails, as a bad sector does.
#[test]
fn what_cannot_be_read_fails() {
    for way in ways() {
        let file = open(File::open("/").unwrap(), false);
        let (disk, taker) = (start(way, 2, None), Arc::<Taker>::default());
        disk.read(taker.job(&file, 0, 0, Buffer::short(100)));
        assert_eq!(taker.wait(1)[0].outcome, ReadOutcome::Failed, "{way:?}");
    }
}
