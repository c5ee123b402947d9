//! Prices: what a month of runs costs at AWS, from one dated table.
//!
//! Only what a run adds. The ticks of an idle deployment, what the target itself costs, storage and
//! the free tiers are left out.

use serde::Serialize;

use crate::schedule::Overlap;

/// Public on-demand prices, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Where they hold.
    pub region: &'static str,
    /// When they were read.
    pub as_of: &'static str,
    /// DynamoDB, standard tables, on demand: a million write request units.
    pub million_writes: f64,
    /// DynamoDB: a million read request units, each a consistent read of 4 KB.
    pub million_reads: f64,
    /// SQS, standard queues: a million requests of up to 64 KB.
    pub million_messages: f64,
    /// Lambda: a million requests.
    pub million_invocations: f64,
    /// Lambda on arm64: a gigabyte of memory for a second.
    pub gigabyte_second: f64,
}

/// <https://aws.amazon.com/dynamodb/pricing/on-demand/> (halved on 2024-11-01),
/// <https://aws.amazon.com/sqs/pricing/>, <https://aws.amazon.com/lambda/pricing/>.
pub const PRICES: Prices = Prices {
    region: "us-east-1",
    as_of: "2025-11",
    million_writes: 0.625,
    million_reads: 0.125,
    million_messages: 0.40,
    million_invocations: 0.20,
    gigabyte_second: 0.000_013_333_4,
};

/// What one run consumes at most. The write units are the budget of a fire, which a test counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Consumption {
    /// DynamoDB write units, indexes included.
    pub write_units: f64,
    /// DynamoDB read units.
    pub read_units: f64,
    /// SQS requests: send, receive, delete, when no batch is shared.
    pub messages: f64,
    /// Lambda invocations of the launcher, when no batch is shared.
    pub invocations: f64,
    /// What they bill.
    pub gigabyte_seconds: f64,
}

/// The launcher's memory.
const LAUNCHER_GB: f64 = 0.25;
/// A launch with its calls to DynamoDB and the target, and the wait for the rest of the second.
const LAUNCH_S: f64 = 0.6;
/// The clock as the tick and the launcher read it, the run and the clock as recovery does.
const SMALL_READS: f64 = 4.0;
/// A read unit reads so much.
const READ_UNIT_BYTES: usize = 4096;
/// What a spec is beside its payload.
const SPEC_BYTES: usize = 1024;

impl Consumption {
    /// Of a run under an overlap policy, given a payload of so many bytes.
    pub fn of_run(overlap: Overlap, payload_bytes: usize) -> Consumption {
        let spec_reads = (payload_bytes + SPEC_BYTES).div_ceil(READ_UNIT_BYTES);
        Consumption {
            write_units: match overlap {
                Overlap::Allow => 7.0,
                Overlap::Skip | Overlap::Queue => 9.0,
            },
            read_units: SMALL_READS + spec_reads as f64,
            messages: 3.0,
            invocations: 1.0,
            gigabyte_seconds: LAUNCHER_GB * LAUNCH_S,
        }
    }
}

/// What runs cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Tables.
    pub dynamodb: f64,
    /// Queue.
    pub sqs: f64,
    /// Launcher.
    pub lambda: f64,
    /// All of it.
    pub total: f64,
    /// Where these prices hold.
    pub region: &'static str,
    /// When they were read.
    pub as_of: &'static str,
}

impl Prices {
    /// The cost of so many runs, each consuming `each`, to a hundredth of a cent.
    ///
    /// ```
    /// use belfry_core::{prices::{Consumption, PRICES}, schedule::Overlap};
    /// let each = Consumption::of_run(Overlap::Allow, 0);
    /// assert_eq!(PRICES.cost(1_000_000.0, &each).dynamodb, 5.0); // 7 writes and 5 reads each
    /// ```
    pub fn cost(&self, runs: f64, each: &Consumption) -> Cost {
        let rounded = |dollars: f64| (dollars * 10_000.0).round() / 10_000.0;
        let millions = runs / 1_000_000.0;
        let dynamodb = millions
            * (each.write_units * self.million_writes + each.read_units * self.million_reads);
        let sqs = millions * each.messages * self.million_messages;
        let lambda = millions * each.invocations * self.million_invocations
            + runs * each.gigabyte_seconds * self.gigabyte_second;
        Cost {
            dynamodb: rounded(dynamodb),
            sqs: rounded(sqs),
            lambda: rounded(lambda),
            total: rounded(dynamodb + sqs + lambda),
            region: self.region,
            as_of: self.as_of,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutely_schedule_costs_cents_and_nothing_costs_nothing() {
        let each = Consumption::of_run(Overlap::Skip, 0);
        let cost = PRICES.cost(43_800.0, &each);
        assert_eq!((cost.dynamodb, cost.sqs, cost.lambda), (0.2738, 0.0526, 0.0964));
        assert_eq!(cost.total, 0.4227);
        assert_eq!(PRICES.cost(0.0, &each).total, 0.0);
    }

    #[test]
    fn a_large_payload_is_paid_for_when_it_is_read() {
        let reads = |bytes| Consumption::of_run(Overlap::Allow, bytes).read_units;
        assert_eq!((reads(0), reads(3072), reads(3073)), (5.0, 5.0, 6.0));
        assert_eq!(reads(100 * 1024), 4.0 + 26.0);
    }
}
