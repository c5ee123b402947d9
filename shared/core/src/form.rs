//! How numbers of requests are read.

use serde_json::Value;

/// A whole number from 0. JSON knows one kind of number: 60.0 is as whole as 60.
pub fn whole_number(value: &Value) -> Option<u64> {
    // Beyond this not every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: f64| {
        ((0.0..EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    };
    value.as_u64().or_else(|| whole(value.as_f64()?))
}
