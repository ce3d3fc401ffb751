use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Instant;

use jouletree_model::sampling::Quality;
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};
use punctual::punctually;

use super::*;

/// Counts its readings, and does in each what the test says.
struct Scripted {
    info: SensorInfo,
    count: u64,
    orders: Arc<Orders>,
}

#[derive(Default)]
struct Orders {
    /// How long readings take; for ever when negative.
    milliseconds: AtomicI64,
    /// The next reading fails so.
    fail: Mutex<Option<ReadError>>,
    readings: AtomicU64,
}

impl Sensor for Scripted {
    fn info(&self) -> &SensorInfo {
        &self.info
    }

    fn read(&mut self) -> Result<u64, ReadError> {
        match self.orders.milliseconds.swap(0, Ordering::SeqCst) {
            0 => {}
            milliseconds if milliseconds < 0 => thread::sleep(Duration::from_secs(3600)),
            milliseconds => thread::sleep(Duration::from_millis(milliseconds as u64)),
        }
        self.orders.readings.fetch_add(1, Ordering::SeqCst);
        if let Some(error) = self.orders.fail.lock().unwrap().take() {
            return Err(error);
        }
        self.count += 1;
        Ok(self.count)
    }
}

fn scripted() -> (Arc<Orders>, Box<Scripted>) {
    let info = SensorInfo {
        device: Device::new(DeviceClass::Gpu, 0),
        domain: None,
        source: "a script".to_owned(),
        kind: Kind::Measured,
        range: None,
        step: Microjoules(1.0),
        period: Nanos(16_000_000),
        most: Watts(1e3),
        is_slow: true,
        quality: Quality::default(),
    };
    let orders = Arc::new(Orders::default());
    (orders.clone(), Box::new(Scripted { info, count: 0, orders }))
}

/// Reads until it is as wanted; the longest single reading is given back.
fn until(sensor: &mut Deadlined, wanted: impl Fn(&Result<u64, ReadError>) -> bool) -> Duration {
    let (begin, mut longest) = (Instant::now(), Duration::ZERO);
    while begin.elapsed() < Duration::from_secs(10) {
        let before = Instant::now();
        let said = sensor.read();
        longest = longest.max(before.elapsed());
        if wanted(&said) {
            return longest;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("it never came to that");
}

#[test]
fn a_sensor_that_hangs_is_late_and_then_there_again() {
    punctually(is_late_and_there_again);
}

fn is_late_and_there_again() {
    let (orders, sensor) = scripted();
    let mut sensor = Deadlined::start(sensor, Nanos(60_000_000)).unwrap();
    let before = sensor.read().unwrap();
    orders.milliseconds.store(200, Ordering::SeqCst);
    let begin = Instant::now();
    let mut longest = until(&mut sensor, |said| matches!(said, Err(ReadError::Late(_))));
    assert!(begin.elapsed() < Duration::from_millis(190), "late only after {:?}", begin.elapsed());
    longest = longest.max(until(&mut sensor, |said| said.as_ref().is_ok_and(|count| *count > before)));
    assert!(begin.elapsed() >= Duration::from_millis(200));
    // Far from the hang, even if this thread was interrupted.
    assert!(longest < Duration::from_millis(50), "a reading took {longest:?}");
    assert!(sensor.remarks()[0].contains("1 times"), "{:?}", sensor.remarks());
}

#[test]
fn a_sensor_that_hangs_for_ever_does_not_hold_up_the_end() {
    let (orders, sensor) = scripted();
    let mut sensor = Deadlined::start(sensor, Nanos(60_000_000)).unwrap();
    orders.milliseconds.store(-1, Ordering::SeqCst);
    until(&mut sensor, |said| matches!(said, Err(ReadError::Late(_))));
    let begin = Instant::now();
    drop(sensor);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn a_sensor_that_hangs_from_the_start_is_late_at_once() {
    let (orders, sensor) = scripted();
    orders.milliseconds.store(-1, Ordering::SeqCst);
    let begin = Instant::now();
    let mut sensor = Deadlined::start(sensor, Nanos(60_000_000)).unwrap();
    assert!(matches!(sensor.read(), Err(ReadError::Late(_))));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn an_error_between_two_looks_is_not_lost() {
    let (orders, sensor) = scripted();
    let mut sensor = Deadlined::start(sensor, Nanos(5_000_000_000)).unwrap();
    assert!(sensor.read().is_ok());
    *orders.fail.lock().unwrap() = Some(ReadError::Unwatched(Nanos(7)));
    let readings = orders.readings.load(Ordering::SeqCst);
    while orders.readings.load(Ordering::SeqCst) < readings + 5 {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(matches!(sensor.read(), Err(ReadError::Unwatched(Nanos(7)))));
    assert!(sensor.read().is_ok());
}

#[test]
fn a_sensor_that_is_gone_stays_gone_until_it_is_back() {
    let (orders, sensor) = scripted();
    *orders.fail.lock().unwrap() = Some(ReadError::Gone("unplugged".to_owned()));
    let mut sensor = Deadlined::start(sensor, Nanos(30_000_000)).unwrap();
    thread::sleep(Duration::from_millis(60));
    assert!(matches!(sensor.read(), Err(ReadError::Gone(_))));
    until(&mut sensor, Result::is_ok);
}

#[test]
fn a_function_that_takes_for_ever_is_left_behind() {
    assert_eq!(within(Nanos(5_000_000_000), || 5), Some(5));
    let never = within(Nanos(20_000_000), || thread::sleep(Duration::from_secs(3600)));
    assert_eq!(never, None);
}
