//! The embedded services: a DynamoDB and an SQS on loopback ports, in memory or in a folder.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::types::QueueAttributeName;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use belfry_engine::cloud::store::tables;
use belfry_engine::settings::{BadSetting, Settings};
use belfry_sqs::Sqs;
use belfry_time::Time;
use dynoxide::Database;

use crate::data;

/// Where the services store their data.
#[derive(Clone, Debug)]
pub enum Storage {
    /// In memory: lost when the process ends.
    Memory,
    /// In files of this folder.
    Folder(PathBuf),
}

/// The running services.
pub struct Services {
    /// Their endpoints.
    pub endpoints: Endpoints,
    /// The database behind the DynamoDB endpoint.
    pub database: Database,
    /// The queues behind the SQS endpoint.
    pub queues: Sqs,
}

/// The services' endpoints: the values of `AWS_ENDPOINT_URL_*` for a separate process.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// The DynamoDB endpoint.
    pub dynamodb: String,
    /// The SQS endpoint.
    pub sqs: String,
}

/// Why the services did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port or a file is not available.
    #[error("{0}: {1}")]
    Io(String, #[source] std::io::Error),
    /// The database could not be opened.
    #[error("open the database: {0}")]
    Database(String),
    /// The queues could not be opened.
    #[error("open the queues: {0}")]
    Queues(#[from] belfry_sqs::OpenError),
    /// A table or queue could not be created.
    #[error("{0}")]
    Prepare(String),
    /// The environment contains invalid settings.
    #[error("settings: {}", .0.iter().map(BadSetting::to_string).collect::<Vec<_>>().join("; "))]
    Settings(Vec<BadSetting>),
    /// The function binaries are missing.
    #[error("{0}")]
    Processes(String),
}

/// The region the local services claim to be in.
pub const REGION: &str = "us-east-1";
/// The queue from the tick to the launcher.
pub const LAUNCH_QUEUE: &str = "belfry-launch";
/// The queue through which a tick hands work to other ticks.
pub const TICK_QUEUE: &str = "belfry-ticks";
/// Longer than a tick takes: a tick hands over before its time limit.
const TICK_VISIBILITY_S: &str = "60";
/// A hand-over is useless after its minute and needs no dead-letter queue, because the rule's next
/// tick finds the same fires.
const TICK_RETENTION_S: &str = "120";
/// The queue for messages that were delivered too often.
pub const DEAD_LETTER_QUEUE: &str = "belfry-dead-letters";
/// Longer than a launcher's lease on a run: a message that returns finds the lease expired.
const VISIBILITY_S: &str = "30";
/// Deliveries before a message becomes a dead letter: more than the launcher's attempts, because a
/// delivery that is too early or finds the run held counts too.
const MAX_RECEIVES: u32 = 20;

impl Services {
    /// Starts both services. A port of 0 picks a free one.
    pub async fn start(
        storage: &Storage,
        time: Arc<dyn Time>,
        (dynamodb_port, sqs_port): (u16, u16),
    ) -> Result<Services, StartError> {
        let (database, queues) = match storage {
            Storage::Memory => (Database::memory(), Sqs::memory(time)?),
            Storage::Folder(folder) => {
                let path = folder.join(data::DYNAMODB);
                let database = Database::new(&path.to_string_lossy());
                (database, Sqs::open(&folder.join(data::SQS), time)?)
            }
        };
        let database = database.map_err(|e| StartError::Database(e.to_string()))?;
        // SQLite stays at synchronous=NORMAL: a killed process loses nothing, and each write saves
        // a disk flush.
        database.disable_bulk_loading().map_err(|e| StartError::Database(e.to_string()))?;
        let dynamodb = listen("DynamoDB", dynamodb_port)?;
        let sqs = listen("SQS", sqs_port)?;
        let endpoints = Endpoints { dynamodb: url(&dynamodb)?, sqs: url(&sqs)? };
        serve_database(dynamodb, database.clone())?;
        let sqs = tokio::net::TcpListener::from_std(sqs)
            .map_err(|e| StartError::Io("listen for SQS".to_owned(), e))?;
        tokio::spawn(belfry_sqs::serve(sqs, queues.clone(), std::future::pending()));
        Ok(Services { endpoints, database, queues })
    }

    /// The SDK configuration that reaches these services.
    pub fn sdk(&self) -> SdkConfig {
        let credentials = Credentials::new("local", "local", None, None, "belfry-local");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .service_config(self.endpoints.clone())
            .http_client(http_client())
            .build()
    }
}

impl Services {
    /// Creates the tables and queues that do not exist yet, and reads the settings for them;
    /// `given` overrides the defaults.
    pub async fn prepare(
        &self,
        sdk: &SdkConfig,
        given: impl Fn(&str) -> Option<String>,
    ) -> Result<Settings, StartError> {
        let queues = aws_sdk_sqs::Client::new(sdk);
        let (launch_queue_url, dead_letter_queue_url) = create_queues(&queues).await?;
        let tick_queue_url = create_tick_queue(&queues).await?;
        let settings = Settings::read(|name| {
            given(name).or_else(|| match name {
                "LAUNCH_QUEUE_URL" => Some(launch_queue_url.clone()),
                "DEAD_LETTER_QUEUE_URL" => Some(dead_letter_queue_url.clone()),
                "TICK_QUEUE_URL" => Some(tick_queue_url.clone()),
                _ => local_default(name).map(str::to_owned),
            })
        })
        .map_err(StartError::Settings)?;
        tables::create(&aws_sdk_dynamodb::Client::new(sdk), &settings)
            .await
            .map_err(|fault| StartError::Prepare(fault.to_string()))?;
        Ok(settings)
    }
}

/// The local default of a setting, where it differs from AWS.
pub fn local_default(setting: &str) -> Option<&'static str> {
    match setting {
        "SCHEDULES_TABLE" => Some("belfry-schedules"),
        "RUNS_TABLE" => Some("belfry-runs"),
        "WORKFLOWS_TABLE" => Some("belfry-workflows"),
        // After a restart, the launches that died with the process are retried soon.
        "LAUNCH_LEASE_S" => Some("15"),
        // Targets on this machine are allowed: people try things out here.
        "ALLOWED_TARGET_NETWORKS" => Some("127.0.0.0/8,::1/128"),
        // Local users own the machine, so no quota protects it from them.
        "CREATE_RATE_PER_MINUTE" | "MAX_SCHEDULES_PER_OWNER" => Some("1000000"),
        _ => None,
    }
}

/// Creates the launch queue and the dead-letter queue; returns their URLs.
async fn create_queues(client: &aws_sdk_sqs::Client) -> Result<(String, String), StartError> {
    let problem = |e: &dyn std::fmt::Display| StartError::Prepare(format!("create queue: {e}"));
    let dead_letters = client
        .create_queue()
        .queue_name(DEAD_LETTER_QUEUE)
        .send()
        .await
        .map_err(|e| problem(&aws_sdk_sqs::error::DisplayErrorContext(e)))?;
    let dead_letters = dead_letters.queue_url().unwrap_or_default();
    let attributes = client
        .get_queue_attributes()
        .queue_url(dead_letters)
        .attribute_names(QueueAttributeName::QueueArn)
        .send()
        .await
        .map_err(|e| problem(&aws_sdk_sqs::error::DisplayErrorContext(e)))?;
    let arn = attributes.attributes().and_then(|a| a.get(&QueueAttributeName::QueueArn));
    let redrive = serde_json::json!({
        "deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVES,
    });
    let launch = client
        .create_queue()
        .queue_name(LAUNCH_QUEUE)
        .attributes(QueueAttributeName::VisibilityTimeout, VISIBILITY_S)
        .attributes(QueueAttributeName::RedrivePolicy, redrive.to_string())
        .send()
        .await
        .map_err(|e| problem(&aws_sdk_sqs::error::DisplayErrorContext(e)))?;
    Ok((launch.queue_url().unwrap_or_default().to_owned(), dead_letters.to_owned()))
}

async fn create_tick_queue(client: &aws_sdk_sqs::Client) -> Result<String, StartError> {
    let made = client
        .create_queue()
        .queue_name(TICK_QUEUE)
        .attributes(QueueAttributeName::VisibilityTimeout, TICK_VISIBILITY_S)
        .attributes(QueueAttributeName::MessageRetentionPeriod, TICK_RETENTION_S)
        .send()
        .await;
    let made = made.map_err(|e| {
        let problem = aws_sdk_sqs::error::DisplayErrorContext(e);
        StartError::Prepare(format!("create queue: {problem}"))
    })?;
    Ok(made.queue_url().unwrap_or_default().to_owned())
}

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        match (key.env(), key.service_id()) {
            ("AWS_ENDPOINT_URL", "DynamoDB") => Some(self.dynamodb.clone()),
            ("AWS_ENDPOINT_URL", "SQS") => Some(self.sqs.clone()),
            _ => None,
        }
    }
}

/// Supports TLS too: targets may be in AWS.
fn http_client() -> SharedHttpClient {
    Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).build_https()
}

/// A listener on a loopback port.
pub fn listen(what: &str, port: u16) -> Result<TcpListener, StartError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let doing = |e| StartError::Io(format!("listen for {what} on {address}"), e);
    let listener = TcpListener::bind(address).map_err(doing)?;
    listener.set_nonblocking(true).map_err(doing)?;
    Ok(listener)
}

/// The URL of a listener.
pub fn url(listener: &TcpListener) -> Result<String, StartError> {
    let address = listener.local_addr();
    let address = address.map_err(|e| StartError::Io("read a port".to_owned(), e))?;
    Ok(format!("http://{address}"))
}

/// In a thread of its own: the database blocks while SQLite writes.
fn serve_database(listener: TcpListener, database: Database) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| StartError::Io("start the database thread".to_owned(), e))?;
    let serve = async move {
        let served = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => {
                dynoxide::server::serve_with_shutdown(listener, database, std::future::pending())
                    .await
            }
            Err(e) => Err(e.to_string()),
        };
        if let Err(problem) = served {
            tracing::error!(problem, "the DynamoDB endpoint stopped");
        }
    };
    std::thread::Builder::new()
        .name("dynamodb".to_owned())
        .spawn(move || runtime.block_on(serve))
        .map_err(|e| StartError::Io("start the database thread".to_owned(), e))?;
    Ok(())
}
