//! A collector of OpenTelemetry metrics that keeps what it is sent and answers as it is set up to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use prost::Message;

/// One post, as it came.
#[derive(Debug, Clone)]
pub struct Post {
    /// The request line and the headers, in small letters.
    pub head: String,
    pub body: ExportMetricsServiceRequest,
}

impl Post {
    /// A metric by its name.
    pub fn metric(&self, name: &str) -> &Metric {
        let metrics = &self.body.resource_metrics[0].scope_metrics[0].metrics;
        metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name} in {metrics:?}"))
    }
}

/// The collector; it ends with the test.
pub struct Collector {
    pub address: SocketAddr,
    posts: Arc<Mutex<Vec<Post>>>,
}

impl Collector {
    /// Answers the posts one after the other with these, and the rest with the last.
    pub fn answering(answers: &'static [&'static str]) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Collector { address: listener.local_addr().unwrap(), posts: Arc::default() };
        let posts = collector.posts.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let answer = answers[number.min(answers.len() - 1)];
                let post = taken(stream.unwrap(), answer);
                posts.lock().unwrap().push(post);
            }
        });
        collector
    }

    pub fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }
}

fn taken(stream: TcpStream, answer: &str) -> Post {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the post ends in its head: {head}");
        if line == "\r\n" {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split("\r\n").next());
    let mut body = vec![0; length.unwrap_or_else(|| panic!("{head}")).parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
    Post { head, body: ExportMetricsServiceRequest::decode(&body[..]).unwrap() }
}
