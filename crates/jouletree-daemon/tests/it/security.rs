//! Only permitted clients get in and see only what they may; malformed input does no harm.

use crate::common;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Daemon, MS, machine};
use jouletree_daemon::client::{Address, Client, ClientError};
use jouletree_daemon::policy::FLOOR;
use jouletree_daemon::wire::smaragdine::StopRequest;
use jouletree_daemon::wire::smaragdine::sampler_client::SamplerClient;
use jouletree_daemon::wire::v1;
use jouletree_daemon::wire::v1::meter_client::MeterClient;
use jouletree_daemon::wire::v1::watch_request::Request;
use jouletree_daemon::{Config, SmaragdineConfig, Tcp, Token};
use jouletree_meter::station::{Feed, Next};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

fn secret_file(path: &Path, content: &str) -> PathBuf {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_owned()
}

fn with_tcp(config: &mut Config, folder: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = secret_file(&folder.join("cert.pem"), &made.cert.pem());
    let key = secret_file(&folder.join("key.pem"), &made.signing_key.serialize_pem());
    let token = Token::read(&secret_file(&folder.join("token"), "a-token-of-the-tests\n")).unwrap();
    config.tcp = Some(Tcp { address: "127.0.0.1:0".parse().unwrap(), certificate, key, token });
}

fn tls(daemon: &Daemon, token: &str) -> Address {
    let token = Token::read(&secret_file(&daemon.folder.path().join("brought"), token)).unwrap();
    let address = format!("localhost:{}", daemon.ways.tcp.unwrap().port());
    Address::Tls { address, certificate: daemon.folder.path().join("cert.pem"), token }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn raw(path: &Path) -> MeterClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("unix:{}", path.display())).unwrap();
    MeterClient::new(endpoint.connect().await.unwrap())
}

fn code(error: ClientError) -> Code {
    match error {
        ClientError::Refused(status) => status.code(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_network_needs_the_token() {
    let daemon = Daemon::start(with_tcp);
    let right = Client::connect(&tls(&daemon, "a-token-of-the-tests")).unwrap();
    assert_eq!(right.sensors().unwrap(), daemon.client().sensors().unwrap());
    let wrong = Client::connect(&tls(&daemon, "a-token-of-the-testt")).unwrap();
    assert_eq!(code(wrong.sensors().unwrap_err()), Code::Unauthenticated);
    assert_eq!(code(wrong.status().unwrap_err()), Code::Unauthenticated);
    assert_eq!(code(wrong.watch(machine(MS)).unwrap_err()), Code::Unauthenticated);
    let pem = fs::read(daemon.folder.path().join("cert.pem")).unwrap();
    let address = daemon.ways.tcp.unwrap();
    runtime().block_on(async {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)).domain_name("localhost");
        let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap().tls_config(tls).unwrap();
        let mut without = MeterClient::new(endpoint.connect().await.unwrap());
        let status = without.sensors(v1::SensorsRequest {}).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
        // Without encryption there is no conversation.
        let plain = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await;
        let answer = match plain {
            Ok(channel) => MeterClient::new(channel).sensors(v1::SensorsRequest {}).await.map(|_| ()),
            Err(_) => return,
        };
        assert!(answer.is_err());
    });
}

#[test]
fn the_network_sees_no_finer_than_the_floor() {
    let daemon = Daemon::start(with_tcp);
    let client = Client::connect(&tls(&daemon, "a-token-of-the-tests")).unwrap();
    let mut session = client.watch(machine(MS)).unwrap();
    assert_eq!(session.period(), FLOOR);
    assert!(session.why_longer().unwrap().contains("what others compute"));
    let batch = loop {
        match session.next(Duration::from_secs(5)).unwrap() {
            Next::Batch(batch) if !batch.samples.is_empty() => break batch,
            Next::Ended => panic!("it ended"),
            _ => {}
        }
    };
    let times: Vec<_> = batch.samples.iter().filter(|sample| sample.sensor == 0).map(|sample| sample.at).collect();
    // A reading may be late, yet there are no more of them.
    let most = (times[times.len() - 1] - times[0]).0 / FLOOR.0 + 2;
    assert!(i64::try_from(times.len()).unwrap() <= most, "{times:?}");
    let status = client.status().unwrap();
    assert_eq!((status.session_count, status.sessions.len()), (1, 0), "it does not see who else is served");
}

#[test]
fn a_message_of_100_megabytes_is_refused() {
    let daemon = Daemon::start(|_, _| {});
    runtime().block_on(async {
        let mut meter = raw(&daemon.ways.socket).await;
        let huge = v1::StopRequest { session: 1, secret: vec![7; 100 << 20] };
        let status = meter.stop(huge).await.unwrap_err();
        assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status:?}");
        let mut meter = raw(&daemon.ways.socket).await;
        let start = v1::Start { pid: None, period_ns: 4_000_000 };
        let resume = v1::Resume { session: 1, secret: vec![7; 100 << 10], next: 0 };
        let wishes = [Request::Resume(resume), Request::Start(start)];
        let wishes = wishes.map(|request| v1::WatchRequest { request: Some(request) });
        let status = meter.watch(tokio_stream::iter(wishes)).await.unwrap_err();
        assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status:?}");
    });
    let status = daemon.client().status().unwrap();
    assert_eq!(status.session_count, 0);
    assert!(status.resident_bytes > 0);
}

#[test]
fn only_its_client_resumes_a_session() {
    let daemon = Daemon::start(|_, _| {});
    runtime().block_on(async {
        let mut meter = raw(&daemon.ways.socket).await;
        let (wishes, requests) = tokio::sync::mpsc::channel(8);
        let wish = |request| v1::WatchRequest { request: Some(request) };
        wishes.send(wish(Request::Start(v1::Start { pid: None, period_ns: 4_000_000 }))).await.unwrap();
        let stream = tokio_stream::wrappers::ReceiverStream::new(requests);
        let mut events = meter.watch(stream).await.unwrap().into_inner();
        let Some(v1::watch_event::Event::Started(started)) = events.message().await.unwrap().unwrap().event else {
            panic!("it does not start");
        };
        let v1::Started { session, secret, .. } = started;
        assert_eq!(secret.len(), 16);
        let other = secret.iter().map(|byte| !byte).collect::<Vec<_>>();
        for (session, secret) in
            [(session, other), (session, vec![]), (session, secret[..15].to_vec()), (session + 1, secret.clone())]
        {
            let resume = Request::Resume(v1::Resume { session, secret: secret.clone(), next: 0 });
            let status = meter.watch(tokio_stream::iter([wish(resume)])).await.unwrap_err();
            assert_eq!(status.code(), Code::NotFound);
            let status = meter.stop(v1::StopRequest { session, secret }).await.unwrap_err();
            assert_eq!(status.code(), Code::NotFound);
        }
        // What does not belong there is refused, too.
        for request in [None, Some(Request::End(v1::End {}))] {
            let status = meter.watch(tokio_stream::iter([v1::WatchRequest { request }])).await.unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument);
        }
        meter.stop(v1::StopRequest { session, secret }).await.unwrap();
        let mut last = None;
        while let Ok(Some(event)) = events.message().await {
            last = event.event;
            if matches!(last, Some(v1::watch_event::Event::Ended(_))) {
                break;
            }
        }
        let Some(v1::watch_event::Event::Ended(ended)) = last else { panic!("{last:?}") };
        assert_eq!(ended.reason(), v1::ended::Reason::Stopped);
    });
}

#[test]
fn garbage_harms_nobody() {
    let daemon = Daemon::start(|_, _| {});
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let zeros = [preface.as_slice(), &[0; 4096]].concat();
    let ones = [preface.as_slice(), &[0xff; 4096]].concat();
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec();
    for garbage in [vec![0; 4096], vec![0xff; 1 << 20], zeros, ones, request] {
        let mut stream = UnixStream::connect(&daemon.ways.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // The daemon may hang up before all is said.
        let _ = stream.write_all(&garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(daemon.client().status().is_ok());
    }
    // Nor does one that says nothing.
    let _silent = UnixStream::connect(&daemon.ways.socket).unwrap();
    assert!(daemon.client().status().is_ok());
}

#[test]
fn nobody_takes_all_connections() {
    let daemon = Daemon::start(|config, _| config.limits.connections_of_user = 4);
    let _open: Vec<_> = (0..4).map(|_| UnixStream::connect(&daemon.ways.socket).unwrap()).collect();
    let client = Client::connect(&Address::Unix(daemon.ways.socket.clone()));
    assert!(client.and_then(|client| client.status()).is_err());
    drop(_open);
    common::until("a free place", || {
        Client::connect(&Address::Unix(daemon.ways.socket.clone())).is_ok_and(|client| client.status().is_ok())
    });
}

/// Strangers that connect to the network, and say nothing or answer pings for ever, do not lock out others.
#[test]
fn idle_strangers_do_not_lock_out_the_owner_of_the_token() {
    let daemon = Daemon::start(|config, folder| {
        with_tcp(config, folder);
        let address = "127.0.0.1:0".parse().unwrap();
        config.smaragdine = Some(SmaragdineConfig { address, insecure: false, fast: false });
    });
    let (network, smaragdine) = (daemon.ways.tcp.unwrap(), daemon.ways.smaragdine.unwrap());
    let before = Client::connect(&tls(&daemon, "a-token-of-the-tests")).unwrap();
    assert!(before.sensors().is_ok());
    let silent: Vec<_> = (0..160).map(|_| TcpStream::connect(network).unwrap()).collect();
    let pem = fs::read(daemon.folder.path().join("cert.pem")).unwrap();
    let (ready, are_ready) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    // They answer pings as long as their thread runs.
    let idle = std::thread::spawn(move || {
        runtime().block_on(async {
            let plain = Endpoint::from_shared(format!("http://{smaragdine}")).unwrap();
            let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)).domain_name("localhost");
            let secure = Endpoint::from_shared(format!("https://{network}")).unwrap().tls_config(tls).unwrap();
            let mut channels = Vec::new();
            for (endpoint, count) in [(plain, 140), (secure, 40)] {
                for _ in 0..count {
                    channels.push(endpoint.connect().await.unwrap());
                }
            }
            ready.send(()).unwrap();
            let _ = stopped.await;
        });
    });
    are_ready.recv_timeout(common::TIMEOUT).unwrap();
    assert!(before.sensors().is_ok(), "it was here first");
    let later = Client::connect(&tls(&daemon, "a-token-of-the-tests")).unwrap();
    assert!(later.sensors().is_ok());
    assert!(later.watch(machine(MS)).is_ok());
    runtime().block_on(async {
        let endpoint = Endpoint::from_shared(format!("http://{smaragdine}")).unwrap();
        let mut sampler = SamplerClient::new(endpoint.connect().await.unwrap());
        sampler.stop(StopRequest { pid: None }).await.unwrap();
    });
    assert!(daemon.client().status().is_ok());
    drop((silent, stop));
    idle.join().unwrap();
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    for (mode, is_refused) in [(0o644, true), (0o604, true), (0o660, true), (0o640, false), (0o400, false)] {
        let served = std::panic::catch_unwind(|| {
            Daemon::start(|config, folder| {
                with_tcp(config, folder);
                fs::set_permissions(folder.join("key.pem"), fs::Permissions::from_mode(mode)).unwrap();
            })
        });
        let text = served.as_ref().err().and_then(|panic| panic.downcast_ref::<String>()).cloned();
        assert_eq!(served.is_err(), is_refused, "{mode:o}: {text:?}");
        assert!(text.is_none_or(|text| text.contains("OpenKey")), "{mode:o}");
    }
}

#[test]
fn without_a_daemon_one_is_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("daemon.sock");
    let error = |path: &Path| Client::connect(&Address::Unix(path.to_owned())).unwrap_err().to_string();
    assert!(error(&path).contains("systemctl start jouletree"));
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(error(&path).contains("no daemon runs"), "a socket that was left behind is none");
}
