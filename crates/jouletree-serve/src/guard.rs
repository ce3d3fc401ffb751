//! What keeps other pages out: names that are not this machine's, and a policy that lets the page load nothing foreign.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What every answer says to the browser.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds those headers.
pub async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Refuses requests to names that are not this machine's own: a foreign page whose name was made to point here (DNS
/// rebinding) would otherwise read the answers as its own.
pub async fn only_local_names(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    match host {
        Some(host) if is_local(host) => next.run(request).await,
        _ => (StatusCode::MISDIRECTED_REQUEST, "ask for http://localhost or http://127.0.0.1\n").into_response(),
    }
}

/// Whether `localhost:8480`, `127.0.0.1:8480`, `[::1]:8480` or the like means this machine.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        for host in
            ["localhost", "localhost:8480", "LOCALHOST:1", "127.0.0.1:8480", "127.0.0.2", "[::1]:8480", "[::1]"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["", "example.org", "example.org:8480", "localhost.example.org", "10.0.0.1:8480", "[2001:db8::1]:80"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
