//! Tokens of the local system: an issuer with its own key, and the gateway's check.
//!
//! The check is API Gateway's: an RSA signature, `iss`, `aud` and `exp`, and `nbf` and `iat` if
//! present. A `sub` is required too, because every schedule has an owner.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use belfry_core::guard::access::Scope;
use belfry_core::instant::Instant;
use chrono::Duration;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use pem::{EncodeConfig, LineEnding, Pem};
use serde_json::{Map, Value, json};

use crate::services::StartError;

/// The `iss` claim of local tokens.
pub const ISSUER: &str = "belfry-local";
/// The `aud` claim of local tokens.
pub const AUDIENCE: &str = "belfry";
/// The user of the token that `belfry dev` prints.
pub const LOCAL_USER: &str = "local";
/// How long a token is valid by default.
pub const TTL: Duration = Duration::days(30);

/// A key that signs tokens, and its public part that checks them.
pub struct Issuer {
    signing: EncodingKey,
    checking: DecodingKey,
    public: Jwk,
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Not a token, or not signed by this issuer.
    #[error("the token is not signed by this issuer")]
    Forged,
    /// Its `exp` has passed.
    #[error("the token has expired")]
    Expired,
    /// Its `nbf` or `iat` is in the future.
    #[error("the token is not valid yet")]
    Early,
    /// Its `aud` is different.
    #[error("the token is for another audience")]
    Audience,
    /// Its `iss` is different.
    #[error("the token has another issuer")]
    Issuer,
    /// A required claim is missing or malformed.
    #[error("the token lacks a claim: iss, aud, exp and sub are required")]
    Claims,
}

impl Issuer {
    /// A new key as a PEM document.
    pub fn new_key() -> Result<String, StartError> {
        let problem = |_| StartError::Prepare("create a token key".to_owned());
        let der: Pkcs8V1Der<'_> =
            KeyPair::generate(KeySize::Rsa2048).and_then(|pair| pair.as_der()).map_err(problem)?;
        let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
        Ok(pem::encode_config(&Pem::new("PRIVATE KEY", der.as_ref()), lines))
    }

    /// The issuer with this key.
    pub fn of_key(pem: &str) -> Result<Issuer, StartError> {
        let problem =
            |e: jsonwebtoken::errors::Error| StartError::Prepare(format!("read token key: {e}"));
        let signing = EncodingKey::from_rsa_pem(pem.as_bytes()).map_err(problem)?;
        let mut public = Jwk::from_encoding_key(&signing, Algorithm::RS256).map_err(problem)?;
        public.common.key_id = Some(public.thumbprint(ThumbprintHash::SHA256).map_err(problem)?);
        let checking = DecodingKey::from_jwk(&public).map_err(problem)?;
        Ok(Issuer { signing, checking, public })
    }

    /// A token for `sub` with these scopes.
    pub fn issue(
        &self,
        sub: &str,
        scope: &str,
        ttl: Duration,
        now: Instant,
    ) -> Result<String, StartError> {
        self.sign(&json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": sub, "scope": scope,
            "iat": now.timestamp(), "exp": (now + ttl).timestamp(),
        }))
    }

    /// A token with any claims.
    pub fn sign(&self, claims: &Value) -> Result<String, StartError> {
        let mut header = Header::new(Algorithm::RS256);
        header.kid.clone_from(&self.public.common.key_id);
        encode(&header, claims, &self.signing)
            .map_err(|e| StartError::Prepare(format!("sign a token: {e}")))
    }

    /// The claims of a valid token, as strings, as API Gateway passes them on.
    pub fn check(&self, token: &str, now: Instant) -> Result<Map<String, Value>, Rejected> {
        let mut rules = Validation::new(Algorithm::RS256);
        rules.set_audience(&[AUDIENCE]);
        rules.set_issuer(&[ISSUER]);
        rules.set_required_spec_claims(&["iss", "aud", "exp", "sub"]);
        // Checked below against our own clock: the library would read the machine's.
        rules.validate_exp = false;
        let claims = decode::<Map<String, Value>>(token, &self.checking, &rules);
        let claims = claims.map_err(|problem| rejected(problem.kind()))?.claims;
        let time = |name: &str| claims.get(name).map(|at| at.as_f64().ok_or(Rejected::Claims));
        let now = now.timestamp_millis() as f64 / 1000.0;
        if time("exp").ok_or(Rejected::Claims)?? <= now {
            return Err(Rejected::Expired);
        }
        for name in ["nbf", "iat"] {
            if time(name).transpose()?.is_some_and(|at| at > now) {
                return Err(Rejected::Early);
            }
        }
        if claims.get("sub").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(Rejected::Claims);
        }
        Ok(claims.into_iter().map(|(name, claim)| (name, Value::from(as_text(&claim)))).collect())
    }

    /// The public key, as a JSON Web Key Set.
    pub fn keys(&self) -> Value {
        json!({"keys": [self.public]})
    }
}

/// Every scope, in the form of the `scope` claim.
pub fn all_scopes() -> String {
    Scope::ALL.map(Scope::as_str).join(" ")
}

fn rejected(problem: &ErrorKind) -> Rejected {
    match problem {
        ErrorKind::InvalidAudience => Rejected::Audience,
        ErrorKind::InvalidIssuer => Rejected::Issuer,
        ErrorKind::MissingRequiredClaim(_) => Rejected::Claims,
        _ => Rejected::Forged,
    }
}

/// A list becomes `[a b]`, as in API Gateway.
fn as_text(claim: &Value) -> String {
    match claim {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(as_text).collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_token_is_taken_until_it_expires_and_by_its_own_issuer_only() {
        let issuer = Issuer::of_key(&Issuer::new_key().unwrap()).unwrap();
        let token = issuer.issue("ann", "admin", Duration::seconds(10), now()).unwrap();
        let claims = issuer.check(&token, now()).unwrap();
        assert_eq!((&claims["sub"], &claims["scope"]), (&json!("ann"), &json!("admin")));
        assert!(claims["exp"].is_string());
        assert_eq!(issuer.check(&token, now() + Duration::seconds(10)), Err(Rejected::Expired));
        let other = Issuer::of_key(&Issuer::new_key().unwrap()).unwrap();
        assert_eq!(other.check(&token, now()), Err(Rejected::Forged));
    }

    #[test]
    fn every_claim_is_checked() {
        let issuer = Issuer::of_key(&Issuer::new_key().unwrap()).unwrap();
        let later = now().timestamp() + 60;
        let good = json!({"iss": ISSUER, "aud": ["x", AUDIENCE], "sub": "ann", "exp": later});
        let check = |change: fn(&mut Value, i64), expected| {
            let mut claims = good.clone();
            change(&mut claims, later);
            let checked = issuer.check(&issuer.sign(&claims).unwrap(), now());
            assert_eq!(checked.map(|_| ()), expected, "{claims}");
        };
        check(|_, _| {}, Ok(()));
        check(|claims, _| claims["aud"] = json!("other"), Err(Rejected::Audience));
        check(|claims, _| claims["iss"] = json!("other"), Err(Rejected::Issuer));
        check(|claims, later| claims["nbf"] = json!(later), Err(Rejected::Early));
        check(|claims, later| claims["iat"] = json!(later), Err(Rejected::Early));
        check(|claims, _| claims["sub"] = json!(""), Err(Rejected::Claims));
        check(|claims, _| claims["sub"] = json!(7), Err(Rejected::Claims));
        check(|claims, _| claims["exp"] = json!("never"), Err(Rejected::Claims));
        for name in ["iss", "aud", "sub", "exp"] {
            let mut claims = good.clone();
            claims.as_object_mut().unwrap().remove(name);
            let checked = issuer.check(&issuer.sign(&claims).unwrap(), now());
            assert_eq!(checked, Err(Rejected::Claims), "without {name}");
        }
    }

    #[test]
    fn a_token_nobody_signed_is_forged() {
        use base64::Engine;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD as URL;
        let issuer = Issuer::of_key(&Issuer::new_key().unwrap()).unwrap();
        let claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now().timestamp() + 60,
        });
        let good = issuer.sign(&claims).unwrap();
        let body = URL.encode(claims.to_string());
        let none = URL.encode(r#"{"alg":"none","typ":"JWT"}"#);
        let keys = serde_json::to_vec(&issuer.keys()).unwrap();
        let public = EncodingKey::from_secret(&keys);
        let symmetric = encode(&Header::new(Algorithm::HS256), &claims, &public).unwrap();
        let swapped = {
            let parts: Vec<_> = good.split('.').collect();
            let admin = URL.encode(claims.to_string().replace("ann", "bob"));
            format!("{}.{admin}.{}", parts[0], parts[2])
        };
        for token in ["", "x", "a.b.c", &format!("{none}.{body}."), &symmetric, &swapped] {
            assert_eq!(issuer.check(token, now()), Err(Rejected::Forged), "{token}");
        }
    }
}
