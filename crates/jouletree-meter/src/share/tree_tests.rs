//! Trees made of files: what the kernel may say, played by hand.

use std::fs;

use jouletree_host::Roots;
use jouletree_model::Nanos;

use super::source::{Source, TreeTime};
use super::{Discovery, Tree, WatchError};

pub(super) struct Fake {
    folder: tempfile::TempDir,
    children: bool,
}

impl Fake {
    pub(super) fn new(children: bool) -> Fake {
        Fake { folder: tempfile::tempdir().unwrap(), children }
    }

    pub(super) fn roots(&self) -> Roots {
        Roots { proc: self.folder.path().join("proc"), sys: self.folder.path().join("sys"), nvml: None }
    }

    /// A process of one thread: its parent, its own ticks, those of children it buried, when it began.
    pub(super) fn process(&self, pid: u32, parent: u32, run: u64, reaped: u64, began: u64) {
        let folder = self.roots().proc.join(pid.to_string());
        let task = folder.join("task").join(pid.to_string());
        fs::create_dir_all(&task).unwrap();
        let line = format!(
            "{pid} (a b) S {parent} 1 1 0 -1 0 0 0 0 0 {run} 0 {reaped} 0 20 0 1 0 {began} 0 0 0 0 0 0 0 0 0 0 0 0 0 \
             0 0 17 1 0\n"
        );
        fs::write(folder.join("stat"), &line).unwrap();
        fs::write(task.join("stat"), &line).unwrap();
        if self.children && !task.join("children").exists() {
            fs::write(task.join("children"), "").unwrap();
        }
    }

    fn children(&self, pid: u32, children: &str) {
        fs::write(self.roots().proc.join(format!("{pid}/task/{pid}/children")), children).unwrap();
    }

    fn die(&self, pid: u32) {
        let folder = self.roots().proc.join(pid.to_string());
        fs::write(folder.join("stat"), "").unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    pub(super) fn cpus(&self, stat: &str) {
        fs::create_dir_all(self.roots().proc).unwrap();
        fs::write(self.roots().proc.join("stat"), stat).unwrap();
    }

    pub(super) fn socket(&self, cpu: u32, package: &str) {
        let folder = self.roots().sys.join(format!("devices/system/cpu/cpu{cpu}/topology"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("physical_package_id"), package).unwrap();
    }
}

fn ticks(count: i64) -> Nanos {
    Nanos(count * 10_000_000)
}

fn pids(tree: &Tree) -> Vec<u32> {
    tree.processes().collect()
}

#[test]
fn descendants_are_found_either_way() {
    for children in [true, false] {
        let fake = Fake::new(children);
        fake.process(10, 1, 5, 0, 100);
        fake.process(11, 10, 5, 0, 101);
        fake.process(99, 1, 5, 0, 50);
        if children {
            fake.children(10, "11 ");
        }
        let mut tree = Tree::watch(&fake.roots(), 10).unwrap();
        assert_eq!(tree.discovery(), if children { Discovery::Children } else { Discovery::Parents });
        assert_eq!(pids(&tree), [10, 11]);
        assert_eq!(tree.time(), Nanos(0), "the past does not count");
        // A grandchild appears, and in the same look its own child.
        fake.process(12, 11, 3, 0, 200);
        fake.process(13, 12, 4, 0, 201);
        if children {
            fake.children(11, "12");
            fake.children(12, "13 77777 nonsense");
        }
        tree.look();
        assert_eq!(pids(&tree), [10, 11, 12, 13]);
        assert_eq!(tree.time(), ticks(7));
        // Orphans stay ours.
        fake.process(12, 1, 10, 0, 200);
        fake.process(13, 1, 4, 0, 201);
        if children {
            fake.children(11, "");
            fake.children(12, "");
        }
        tree.look();
        assert_eq!((pids(&tree), tree.time()), (vec![10, 11, 12, 13], ticks(14)));
    }
}

#[test]
fn what_a_child_took_with_it_is_found_at_its_parent_and_only_once() {
    let fake = Fake::new(true);
    fake.process(10, 1, 0, 50, 100);
    let mut tree = Tree::watch(&fake.roots(), 10).unwrap();
    fake.process(11, 10, 7, 0, 200);
    fake.children(10, "11");
    tree.look();
    assert_eq!(tree.time(), ticks(7));
    // It ran 5 more and was buried; a second child of 20 ticks came and went unseen.
    fake.die(11);
    fake.children(10, "");
    fake.process(10, 1, 1, 50 + 12 + 20, 100);
    tree.look();
    assert_eq!((pids(&tree), tree.time()), (vec![10], ticks(1 + 12 + 20)));
    // A child that ends is noticed before its parent shows its time.
    fake.process(12, 10, 30, 0, 300);
    fake.children(10, "12");
    tree.look();
    fake.die(12);
    fake.children(10, "");
    tree.look();
    assert_eq!(tree.time(), ticks(63));
    fake.process(10, 1, 1, 82 + 31, 100);
    tree.look();
    assert_eq!(tree.time(), ticks(64));
}

#[test]
fn a_number_used_again_is_another_process() {
    let fake = Fake::new(true);
    fake.process(10, 1, 0, 0, 100);
    fake.process(11, 10, 5, 0, 101);
    fake.children(10, "11");
    let mut tree = Tree::watch(&fake.roots(), 10).unwrap();
    fake.process(11, 1, 9999, 0, 5000);
    fake.children(10, "");
    tree.look();
    assert_eq!((pids(&tree), tree.time()), (vec![10], Nanos(0)));
    fake.process(10, 1, 7777, 0, 6000);
    tree.look();
    assert!(tree.is_over());
    assert_eq!(tree.time(), Nanos(0));
    tree.look();
}

#[test]
fn garbage_tells_nothing_and_does_no_harm() {
    let fake = Fake::new(true);
    fake.process(10, 1, 5, 0, 100);
    let mut tree = Tree::watch(&fake.roots(), 10).unwrap();
    fs::write(fake.roots().proc.join("10/stat"), "10 (x) S what").unwrap();
    tree.look();
    assert_eq!((pids(&tree), tree.time()), (vec![10], Nanos(0)));
    fake.process(10, 1, 8, 0, 100);
    tree.look();
    assert_eq!(tree.time(), ticks(3));
    // Time that runs backwards is ignored.
    fake.process(10, 1, 2, 0, 100);
    tree.look();
    assert_eq!(tree.time(), ticks(3));
}

#[test]
fn what_cannot_be_watched_says_why() {
    let fake = Fake::new(true);
    let missing = Tree::watch(&fake.roots(), 10).unwrap_err();
    assert!(missing.to_string().contains("mount -t proc"), "{missing}");
    fake.process(10, 1, 0, 0, 1);
    assert!(matches!(Tree::watch(&fake.roots(), 11), Err(WatchError::NoProcess(11))));
    let this = Tree::watch(&Roots::default(), std::process::id());
    assert!(matches!(this, Err(WatchError::Monitor(_))));
    // A file that is there and cannot be opened, for whatever reason, does not mean that there is no process.
    let stat = fake.roots().proc.join("10/stat");
    std::fs::remove_file(&stat).unwrap();
    std::os::unix::fs::symlink(&stat, &stat).unwrap();
    assert!(matches!(Tree::watch(&fake.roots(), 10), Err(WatchError::Unreadable(10, _))));
    let many = WatchError::Unreadable(10, rustix::io::Errno::MFILE.into()).to_string();
    assert!(many.contains("process 10 cannot be looked at") && many.contains("ulimit -n"), "{many}");
}

#[test]
fn numbers_of_other_worlds_are_not_given_to_the_kernel() {
    let fake = Fake::new(true);
    fake.process(1, 0, 0, 0, 1);
    let time = TreeTime::start(&fake.roots(), Tree::watch(&fake.roots(), 1).unwrap());
    assert_eq!(time.source(), Source::Stat);
    let refused: Vec<Source> = time.refused().iter().map(|(source, _)| *source).collect();
    assert_eq!(refused, [Source::PerfTaskClock, Source::Schedstat]);
}

#[test]
fn nobody_has_the_number_zero() {
    assert!(matches!(Tree::watch(&Roots::default(), 0), Err(WatchError::NoProcess(0))));
}
