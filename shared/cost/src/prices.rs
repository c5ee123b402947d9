//! Prices: what AWS charges for the services that Belfry uses, in one table. Each row has its
//! source and date.
//!
//! The pricing pages of AWS insert their numbers by script. So a stored copy of a page has the
//! terms and the worked examples, but not the prices. Each row names the page that its number was
//! read from, and the date of that page. [`Prices::with`] replaces prices by your own, for another
//! region or a contract.

use serde::Serialize;
use serde_json::Value;

/// The things that AWS bills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Billed {
    /// DynamoDB, on demand: write request units.
    WriteUnits,
    /// DynamoDB, on demand: read request units.
    ReadUnits,
    /// DynamoDB: a gigabyte of table and index for a month.
    TableStorage,
    /// DynamoDB: a gigabyte of table that can be restored to any second, for a month.
    PointInTimeRecovery,
    /// SQS: requests of up to 64 KB.
    QueueRequests,
    /// SQS: the surcharge for requests with a message group.
    FairQueueRequests,
    /// Lambda: requests.
    Invocations,
    /// Lambda: a gigabyte of memory for a second.
    GigabyteSeconds,
    /// API Gateway: calls of an HTTP API.
    GatewayCalls,
    /// EventBridge: events put on a bus.
    BusEvents,
    /// CloudWatch: a metric for a month.
    CustomMetrics,
    /// CloudWatch: a metric that an alarm looks at, for a month.
    AlarmMetrics,
    /// CloudWatch: a dashboard for a month.
    Dashboards,
    /// CloudWatch: a gigabyte of ingested log lines.
    LogIngestion,
    /// CloudWatch: a gigabyte of log lines stored for a month.
    LogStorage,
    /// Secrets Manager: a secret for a month.
    Secrets,
    /// EventBridge Scheduler: invocations. Belfry does not use it. It is here for the comparison.
    SchedulerInvocations,
}

/// A row of the price table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Price {
    /// What AWS bills.
    pub billed: Billed,
    /// The AWS service.
    pub service: &'static str,
    /// The unit that is counted.
    pub unit: &'static str,
    /// The number of units that the price is for.
    pub per: f64,
    /// The price of `per` units, in US dollars.
    pub usd: f64,
    /// The units a month that are free in every account, without a time limit.
    pub free: f64,
    /// The pricing page of AWS.
    pub source: &'static str,
    /// The page that the price was read from, and its date.
    pub read: &'static str,
}

impl Price {
    /// The cost of an amount.
    pub fn of(&self, amount: f64) -> f64 {
        amount / self.per * self.usd
    }
}

/// The prices of a region.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// The region of the prices.
    pub region: String,
    /// When the prices were looked up. Each row says how old its page was at that time.
    pub as_of: String,
    /// A row for every [`Billed`], in the same order.
    pub rows: Vec<Price>,
}

/// The region of the built-in prices.
pub const REGION: &str = "us-east-1";
/// When the built-in prices were looked up.
pub const AS_OF: &str = "2026-11";

const DYNAMODB: &str = "https://aws.amazon.com/dynamodb/pricing/on-demand/";
const SQS: &str = "https://aws.amazon.com/sqs/pricing/";
const LAMBDA: &str = "https://aws.amazon.com/lambda/pricing/";
const CLOUDWATCH: &str = "https://aws.amazon.com/cloudwatch/pricing/";
const EVENTBRIDGE: &str = "https://aws.amazon.com/eventbridge/pricing/";
const SECRETS: &str = "https://aws.amazon.com/secrets-manager/pricing/";
const GATEWAY: &str = "https://aws.amazon.com/api-gateway/pricing/";

const MILLION: f64 = 1_000_000.0;

macro_rules! rows {
    ($($billed:ident $service:literal $unit:literal, $per:expr, $usd:expr, free $free:expr, $source:expr, $read:literal;)*) => {
        vec![$(Price {
            billed: Billed::$billed, service: $service, unit: $unit, per: $per, usd: $usd,
            free: $free, source: $source, read: $read,
        }),*]
    };
}

impl Default for Prices {
    /// The public prices of us-east-1, without contracts and discounts.
    fn default() -> Prices {
        let rows = rows! {
            WriteUnits "DynamoDB" "write request unit", MILLION, 0.625, free 0.0, DYNAMODB,
                "airbyte.com/data-engineering-resources/dynamodb-pricing, 2025-07; halved by AWS on 2024-11-01";
            ReadUnits "DynamoDB" "read request unit", MILLION, 0.125, free 0.0, DYNAMODB,
                "airbyte.com/data-engineering-resources/dynamodb-pricing, 2025-07; halved by AWS on 2024-11-01";
            TableStorage "DynamoDB" "GB-month", 1.0, 0.25, free 25.0, DYNAMODB,
                "aws.amazon.com/dynamodb/pricing, an older copy that shows its numbers";
            PointInTimeRecovery "DynamoDB" "GB-month", 1.0, 0.20, free 0.0, DYNAMODB,
                "finops.com.py/services/dynamodb/backups, not dated";
            QueueRequests "SQS" "request", MILLION, 0.40, free MILLION, SQS,
                "cloudburn.io/blog/amazon-sqs-pricing, 2026-03";
            FairQueueRequests "SQS" "request with a message group", MILLION, 0.10, free 0.0, SQS,
                "cloudburn.io/blog/amazon-sqs-pricing, 2026-03; the only page found that names it";
            Invocations "Lambda" "request", MILLION, 0.20, free MILLION, LAMBDA,
                "aws.amazon.com/lambda/pricing, its examples and free tier, 2026-09";
            GigabyteSeconds "Lambda" "GB-second, arm64", 1.0, 0.000_013_333_4, free 400_000.0, LAMBDA,
                "cloudchipr.com/blog/aws-lambda-pricing, 2024; artillery 2.0.28 has the same, 2026";
            GatewayCalls "API Gateway" "HTTP API call", MILLION, 1.00, free 0.0, GATEWAY,
                "aws.amazon.com/api-gateway/pricing, its example, 2026-09; its free tier ends after a year and is not counted";
            BusEvents "EventBridge" "custom event of 64 KB", MILLION, 1.00, free 0.0, EVENTBRIDGE,
                "cloudburn.io/blog/amazon-eventbridge-pricing, 2026-03";
            CustomMetrics "CloudWatch" "metric-month", 1.0, 0.30, free 10.0, CLOUDWATCH,
                "signoz.io/guides/cloudwatch-pricing, 2026-02; free tier by AWS's page";
            AlarmMetrics "CloudWatch" "alarm metric-month", 1.0, 0.10, free 10.0, CLOUDWATCH,
                "no dated page with the number was read; free tier by AWS's page";
            Dashboards "CloudWatch" "dashboard-month", 1.0, 3.00, free 3.0, CLOUDWATCH,
                "factualminds.com/blog/amazon-cloudwatch-pricing-metrics-logs-alarms-dashboards, 2026-06";
            LogIngestion "CloudWatch" "GB", 1.0, 0.50, free 5.0, CLOUDWATCH,
                "factualminds.com/blog/amazon-cloudwatch-pricing-metrics-logs-alarms-dashboards, 2026-06";
            LogStorage "CloudWatch" "GB-month", 1.0, 0.03, free 0.0, CLOUDWATCH,
                "no page with the number was read: check it";
            Secrets "Secrets Manager" "secret-month", 1.0, 0.40, free 0.0, SECRETS,
                "no page with the number was read: check it";
            SchedulerInvocations "EventBridge Scheduler" "invocation", MILLION, 1.00, free 14.0 * MILLION, EVENTBRIDGE,
                "cloudburn.io/blog/amazon-eventbridge-pricing, 2026-03; the free 14 million by AWS's price list of 2025-01";
        };
        Prices { region: REGION.to_owned(), as_of: AS_OF.to_owned(), rows }
    }
}

impl Prices {
    /// The row of a billed thing.
    pub fn row(&self, billed: Billed) -> &Price {
        &self.rows[billed as usize]
    }

    /// Replaces some of the prices. The input has the form `{"region": ..., "as_of": ..., "prices":
    /// {"write_units": 0.7625}}`. Each price is in dollars for the `per` units of its row.
    ///
    /// ```
    /// use belfry_cost::prices::{Billed, Prices};
    /// let mine = serde_json::json!({"region": "eu-central-1", "prices": {"write_units": 0.7}});
    /// let prices = Prices::default().with(&mine).unwrap();
    /// assert_eq!(prices.row(Billed::WriteUnits).of(2_000_000.0), 1.4);
    /// assert!(Prices::default().with(&serde_json::json!({"prices": {"gold": 1}})).is_err());
    /// ```
    pub fn with(mut self, given: &Value) -> Result<Prices, String> {
        let Some(fields) = given.as_object() else {
            return Err("must be an object".to_owned());
        };
        for (field, value) in fields {
            match (field.as_str(), value) {
                ("region", Value::String(region)) => self.region.clone_from(region),
                ("as_of", Value::String(as_of)) => self.as_of.clone_from(as_of),
                ("prices", Value::Object(prices)) => {
                    for (name, usd) in prices {
                        self.replace(name, usd)?;
                    }
                }
                _ => return Err(format!("{field}: is an unknown field or has the wrong type")),
            }
        }
        Ok(self)
    }

    fn replace(&mut self, name: &str, usd: &Value) -> Result<(), String> {
        let named = |row: &&mut Price| serde_json::json!(row.billed) == name;
        let row = self.rows.iter_mut().find(named);
        let row = row.ok_or_else(|| format!("prices.{name}: is not a known price"))?;
        row.usd = match usd.as_f64() {
            Some(usd) if usd.is_finite() && usd >= 0.0 => usd,
            _ => return Err(format!("prices.{name}: must be a number of dollars, 0 or more")),
        };
        row.read = "given";
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_what_it_is_about() {
        let prices = Prices::default();
        for (place, row) in prices.rows.iter().enumerate() {
            assert_eq!(row.billed as usize, place);
            assert_eq!(prices.row(row.billed), row);
        }
        assert_eq!(prices.rows.len(), Billed::SchedulerInvocations as usize + 1);
    }

    #[test]
    fn prices_of_ones_own_replace_some_and_mistakes_are_named() {
        let with = |text: &str| Prices::default().with(&serde_json::from_str(text).unwrap());
        let mine = with(r#"{"region": "r", "as_of": "d", "prices": {"invocations": 0}}"#).unwrap();
        assert_eq!((mine.region.as_str(), mine.as_of.as_str()), ("r", "d"));
        assert_eq!(mine.row(Billed::Invocations).of(5.0 * MILLION), 0.0);
        assert_eq!(mine.row(Billed::QueueRequests).of(5.0 * MILLION), 2.0);
        for bad in [r#"[]"#, r#"{"price": {}}"#, r#"{"prices": {"invocations": -1}}"#] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }
}
