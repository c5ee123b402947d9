//! How numbers of requests are read.

use serde_json::Value;

/// Reads a whole number from 0. JSON has only one kind of number, so 60.0 counts as a whole number
/// too.
pub fn whole_number(value: &Value) -> Option<u64> {
    // Above this limit a float can no longer represent every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: f64| {
        ((0.0..EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    };
    value.as_u64().or_else(|| whole(value.as_f64()?))
}
