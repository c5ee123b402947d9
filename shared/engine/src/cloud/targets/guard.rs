//! The guard of HTTP targets: no connection goes to an address that a target may not have.
//!
//! If a URL contains an address, the guard checks that address. If it contains a name, the guard
//! resolves the name, drops the addresses that are not allowed, and connects to one of the others.
//! There is no second look-up that could give another answer.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use belfry_core::guard::network::Reachable;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

/// HTTP clients that connect only to allowed addresses.
pub(crate) struct Guard {
    reachable: Reachable,
    timeout: Duration,
    tls: OnceLock<Client>,
    plain: OnceLock<Client>,
}

impl Guard {
    pub(crate) fn new(reachable: &Reachable, timeout: Duration) -> Guard {
        let (tls, plain) = (OnceLock::new(), OnceLock::new());
        Guard { reachable: reachable.clone(), timeout, tls, plain }
    }

    /// The client for a URL, and the URL as the client understands it.
    pub(crate) fn admit(&self, url: &str) -> Result<(&Client, Url), String> {
        let (url, tls) = judge(url, &self.reachable)?;
        Ok((self.client(tls)?, url))
    }

    /// The client is made when it is first used: it reads every certificate of the machine, and
    /// most functions call no target.
    fn client(&self, tls: bool) -> Result<&Client, String> {
        let place = if tls { &self.tls } else { &self.plain };
        if let Some(made) = place.get() {
            return Ok(made);
        }
        let client = Client::builder()
            .timeout(self.timeout)
            .redirect(Policy::none())
            // A proxy would resolve names by itself.
            .no_proxy()
            .https_only(tls)
            .dns_resolver(Resolver { reachable: self.reachable.clone(), tls })
            .user_agent(concat!("belfry/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|problem| format!("cannot be called: {problem}"))?;
        Ok(place.get_or_init(|| client))
    }
}

/// What is wrong with the URL of a target, as far as it can be said without resolving its name.
pub(crate) fn problem(url: &str, reachable: &Reachable) -> Option<String> {
    judge(url, reachable).err()
}

/// The URL as the client will understand it, with octal, hexadecimal and short addresses
/// normalised, and whether it uses TLS.
fn judge(text: &str, reachable: &Reachable) -> Result<(Url, bool), String> {
    let url = Url::parse(text).map_err(|problem| format!("is not a URL: {problem}"))?;
    let tls = match url.scheme() {
        "https" => true,
        "http" if !reachable.allowed.is_empty() => false,
        _ => return Err("must be an https URL".to_owned()),
    };
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match literal {
        Ok(address) if !reachable.may_reach(address, tls) => {
            Err(Unreachable::new(host).to_string())
        }
        _ => Ok((url, tls)),
    }
}

/// An address or a name that no target may have.
#[derive(Debug)]
pub(super) struct Unreachable(String);

impl Unreachable {
    fn new(host: &str) -> Unreachable {
        Unreachable(host.to_owned())
    }

    /// Whether a request failed because of this error.
    pub(super) fn is_behind(error: &(dyn Error + 'static)) -> bool {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if error.is::<Unreachable>() {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not an address that targets may have in this deployment", self.0)
    }
}

impl Error for Unreachable {}

struct Resolver {
    reachable: Reachable,
    tls: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (reachable, tls) = (self.reachable.clone(), self.tls);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let kept: Vec<SocketAddr> =
                found.filter(|address| reachable.may_reach(address.ip(), tls)).collect();
            if kept.is_empty() {
                return Err(Unreachable::new(name.as_str()).into());
            }
            let kept: Addrs = Box::new(kept.into_iter());
            Ok(kept)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, allowed: &[&str], expected: bool) {
        let allowed = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let judged = judge(url, &Reachable { allowed });
        assert_eq!(judged.is_ok(), expected, "{url}: {judged:?}");
    }

    #[test]
    fn an_address_is_judged_however_it_is_written() {
        for url in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://017700000001/",
            "https://127.0.0.1.:443/",
            "https://1%32%37.0.0.1/",
            "https://１２７.0.0.1/",
            "https://0/",
            "https://0.0.0.0:8080/",
            "https://[::]/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://169.254.169.254/latest/meta-data/",
            "https://0xa9fea9fe/",
            "https://2852039166/",
            "https://[fd00:ec2::254]/",
            "https://10.0.0.1/",
            "https://user@10.0.0.1/",
            "https://example.com@10.0.0.1/",
            "https://100.64.0.1/",
            "https://224.0.0.1/",
            "https://[64:ff9b::a9fe:a9fe]/",
        ] {
            check(url, &[], false);
        }
        check("https://8.8.8.8/", &[], true);
        check("https://134744072/", &[], true);
        check("https://[2606:4700:4700::1111]/", &[], true);
        check("https://example.com/", &[], true);
    }

    #[test]
    fn plain_http_is_for_allowed_networks_only() {
        check("http://example.com/", &[], false);
        check("http://8.8.8.8/", &["127.0.0.0/8"], false);
        check("http://127.0.0.1:80/", &["127.0.0.0/8"], true);
        check("http://2130706433/", &["127.0.0.0/8"], true);
        // The address is checked when the name is resolved.
        check("http://localhost/", &["127.0.0.0/8"], true);
        check("https://10.0.0.1/", &["127.0.0.0/8"], false);
        check("ftp://127.0.0.1/", &["127.0.0.0/8"], false);
        check("file:///etc/passwd", &["127.0.0.0/8"], false);
        check("127.0.0.1", &["127.0.0.0/8"], false);
    }
}
