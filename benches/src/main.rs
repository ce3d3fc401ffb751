//! Benchmarks of jouletree: each figure beside its target and its peers. Run with `make bench`.

mod alignment;
mod random;

use alignment::Workload;

fn main() {
    for (lanes, devices) in [(4, 8), (1, 8)] {
        let workload = Workload::new(10_000_000, devices, lanes);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let (mut best, mut error) = (f64::MAX, 0.0);
            for _ in 0..5 {
                let (seconds, e) = pool.install(|| workload.run());
                best = f64::min(best, seconds);
                error = e;
            }
            println!(
                "align {lanes} lanes {threads} threads: {:.1} M events/s  conservation {error:.1e}",
                workload.events() as f64 / best / 1e6
            );
        }
    }
}
