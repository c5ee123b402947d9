//! Networks: which addresses a target may have.
//!
//! A caller who publishes a workflow chooses the address that Belfry connects to. Some addresses
//! only Belfry can reach: its own machine, its network, the metadata service of the cloud. A caller
//! must not reach those through Belfry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), bits)
}

const fn v6(a: u16, b: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), bits)
}

/// IPv4 networks that are not public (the IANA registry of special addresses), including multicast
/// and reserved networks.
const NOT_PUBLIC_V4: [Ipv4Net; 14] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    // Multicast, reserved and broadcast.
    v4(224, 0, 0, 3),
];

/// The network that contains all public IPv6 addresses.
const PUBLIC_V6: Ipv6Net = v6(0x2000, 0, 3);
/// Networks within [`PUBLIC_V6`] that are not public. Teredo and 6to4 addresses contain an IPv4
/// address, which may be one of our network.
const NOT_PUBLIC_V6: [Ipv6Net; 4] =
    [v6(0x2001, 0, 23), v6(0x2001, 0xdb8, 32), v6(0x2002, 0, 16), v6(0x3fff, 0, 20)];

/// Whether an address belongs to the public internet. IPv6 addresses that contain an IPv4 address
/// do not count as public: no target needs them, and they hide the IPv4 address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            PUBLIC_V6.contains(&address)
                && !NOT_PUBLIC_V6.iter().any(|network| network.contains(&address))
        }
    }
}

/// The addresses that targets may have: public addresses, and networks that the deployment allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// Networks that the deployment allows although they are not public.
    pub allowed: Vec<IpNet>,
}

impl Reachable {
    /// Whether the address is in a network that the deployment allows.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|network| network.contains(&address.to_canonical()))
    }

    /// Whether a target may have this address. Without TLS, only networks that the deployment
    /// allows are reachable.
    pub fn may_reach(&self, address: IpAddr, tls: bool) -> bool {
        self.allows(address) || (tls && is_public(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for (address, public) in [
            ("8.8.8.8", true),
            ("1.1.1.1", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("172.15.255.255", true),
            ("172.32.0.0", true),
            ("223.255.255.255", true),
            ("2606:4700:4700::1111", true),
            ("2a00:1450::1", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("169.254.169.254", false),
            ("169.254.170.2", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.192", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("203.0.113.7", false),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:169.254.169.254", false),
            ("::ffff:8.8.8.8", false),
            ("64:ff9b::7f00:1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }

    #[test]
    fn a_deployment_may_allow_networks_of_its_own() {
        let here = Reachable { allowed: vec!["127.0.0.0/8".parse().unwrap()] };
        for (address, tls, reachable) in [
            ("127.0.0.1", false, true),
            ("::ffff:127.0.0.1", false, true),
            ("10.0.0.1", true, false),
            ("8.8.8.8", true, true),
            ("8.8.8.8", false, false),
            ("::1", true, false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(here.may_reach(address, tls), reachable, "{address} {tls}");
        }
    }

    #[test]
    fn a_network_is_an_address_and_a_length() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "x/8", "10.0.0/8"] {
            assert!(text.parse::<IpNet>().is_err(), "{text}");
        }
        let everything: IpNet = "0.0.0.0/0".parse().unwrap();
        assert!(everything.contains(&"255.1.2.3".parse::<IpAddr>().unwrap()));
        assert!(!everything.contains(&"::1".parse::<IpAddr>().unwrap()));
    }
}
