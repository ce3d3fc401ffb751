//! Machines made of files: sockets, guests, stolen time, CPUs that come and go, and the shares on them.

use jouletree_model::sampling::Mono;

use super::ShareMeter;
use super::machine::{CpuTicks, Machine, SocketTicks};
use super::tree_tests::Fake;
use crate::ReadError;

#[test]
fn sockets_guests_theft_and_unplugged_cpus() {
    let fake = Fake::new(true);
    for (cpu, package) in [(0, "0\n"), (1, "1\n"), (2, "0\n"), (3, "-1\n")] {
        fake.socket(cpu, package);
    }
    //          user nice system idle iowait irq softirq steal guest guest_nice
    fake.cpus("cpu  0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\ncpu2 9 0 0 0\nintr 1\n");
    let mut machine = Machine::open(&fake.roots()).unwrap();
    assert_eq!(machine.sockets(), [0, 1]);
    fake.cpus("cpu  x\ncpu0 10 1 2 40 5 3 4 6 10 1\ncpu1 1 0 0 9 0 0 0 0 0 0\nintr cpu7\n");
    let seen = machine.look().unwrap();
    let first = SocketTicks { ticks: CpuTicks { busy: 20, idle: 45, stolen: 6 }, cpus: 1 };
    let second = SocketTicks { ticks: CpuTicks { busy: 1, idle: 9, stolen: 0 }, cpus: 1 };
    assert_eq!(seen, [first, second]);
    // CPU 2 comes back with another count, CPU 3 is new, idle time of CPU 1 is corrected backwards.
    fake.cpus("cpu0 20 1 2 40 5 3 4 6\ncpu1 5 0 0 8\ncpu2 1000 0 0 0\ncpu3 1 1 1 1\nintr\n");
    let seen = machine.look().unwrap();
    assert_eq!(
        (seen[0].ticks.busy, seen[0].cpus, seen[1].ticks),
        (10, 1, CpuTicks { busy: 4, idle: 0, stolen: 0 })
    );
    assert_eq!(machine.socket_of(3), Some(0));
    for wrong in ["", "cpu 1 2 3 4\n", "cpu0 1 2 x 4\n", "cpu0 1 2\n", "cpu99999999 1 2 3 4\n", "cpu0 -1 2 3 4\n"]
    {
        fake.cpus(wrong);
        assert!(matches!(machine.look(), Err(ReadError::Garbage(_))), "{wrong}");
    }
}

#[test]
fn a_fake_machines_shares_add_up_and_a_fault_is_a_gap() {
    let fake = Fake::new(true);
    fake.socket(0, "0");
    fake.socket(1, "1");
    fake.process(10, 1, 0, 0, 1);
    fake.cpus("cpu0 0 0 0 0\ncpu1 0 0 0 0\nintr\n");
    let mut meter = ShareMeter::start(&fake.roots(), 10).unwrap();
    let at = |tenths: i64| Mono(1_000_000_000 + tenths * 100_000_000);
    assert!(meter.poll(at(0)).unwrap().is_empty());
    // The process was last seen on CPU 1: six of its eight busy ticks are ours.
    fake.process(10, 1, 6, 0, 1);
    fake.cpus("cpu0 2 0 0 8\ncpu1 8 0 0 2\nintr\n");
    assert!(meter.poll(Mono(at(1).0 - 1)).unwrap().is_empty());
    let shares = meter.poll(at(1)).unwrap().to_vec();
    assert_eq!(shares.iter().map(|share| share.socket).collect::<Vec<_>>(), [0, 1]);
    assert!((shares[1].ours - 0.6).abs() < 1e-9 && shares[0].ours == 0.0, "{shares:?}");
    assert!(shares.iter().all(|share| (share.ours + share.others + share.idle - 1.0).abs() < 1e-9));
    fake.cpus("nonsense\n");
    assert!(meter.poll(at(2)).is_err());
    fake.cpus("cpu0 4 0 0 26\ncpu1 10 0 0 20\nintr\n");
    assert!(meter.poll(at(3)).unwrap().is_empty());
    fake.cpus("cpu0 4 0 0 36\ncpu1 10 0 0 30\nintr\n");
    let shares = meter.poll(at(4)).unwrap();
    assert!(shares.iter().all(|share| share.from == at(3) && share.idle == 1.0), "{shares:?}");
}
