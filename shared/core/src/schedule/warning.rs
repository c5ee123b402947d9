//! A warning about a schedule or an expression, as the API shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is allowed and that its author should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Warning {
    /// Kind of surprise, for programs; see docs/cron.md.
    pub code: String,
    /// The surprise, for people.
    pub message: String,
}

impl Warning {
    /// A warning of this kind.
    pub fn new(code: &str, message: impl Into<String>) -> Warning {
        Warning { code: code.to_owned(), message: message.into() }
    }
}

impl From<belfry_cron::Warning> for Warning {
    fn from(warning: belfry_cron::Warning) -> Warning {
        let code = serde_json::to_value(warning.code).unwrap_or_default();
        let code = code.as_str().unwrap_or_default().to_owned();
        Warning { code, message: warning.message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use belfry_cron::WarningCode;

    #[test]
    fn a_warning_reads_as_the_one_of_the_expression() {
        let code = WarningCode::DstGap;
        let of_cron = belfry_cron::Warning { code, message: "skips 02:30".to_owned() };
        let told = serde_json::to_value(&of_cron).unwrap();
        assert_eq!(serde_json::to_value(Warning::from(of_cron)).unwrap(), told);
        assert_eq!(told["code"], "dst_gap");
    }
}
