//! Starts `belfry dev`: services, rules, mappings and gateway.

use std::path::PathBuf;
use std::sync::Arc;

use aws_config::SdkConfig;
use belfry_core::workflow::{Completion, EVERYBODY, Target, Workflow};
use belfry_engine::app::App;
use belfry_engine::metrics;
use belfry_engine::settings::{ROWS, Row, Settings};
use belfry_time::Time;
use chrono::Duration;
use serde_json::json;
use tokio::net::TcpListener;

use crate::data::{Folder, Keys};
use crate::functions::{Function, Functions};
use crate::mapping::Mapping;
use crate::processes::{Launchpad, Processes};
use crate::services::{
    Endpoints, REGION, Services, StartError, Storage, listen, local_default, url,
};
use crate::tokens::{LOCAL_USER, TTL, all_scopes};
use crate::{gateway, rules};

/// The interval between two recovery passes.
const RECOVERY_RATE: Duration = Duration::seconds(60);

/// What to run and where.
pub struct Options {
    /// The gateway's port; DynamoDB and SQS use the next two. 0 picks free ports.
    pub port: u16,
    /// Where to store data.
    pub storage: Storage,
    /// The interval between two ticks.
    pub tick: Duration,
    /// The folder of the function binaries; if set, the functions run as processes.
    pub processes: Option<PathBuf>,
    /// Whether metrics are printed.
    pub metrics: bool,
}

/// A running system.
pub struct Dev {
    /// The gateway's URL.
    pub url: String,
    /// The endpoints of the embedded services.
    pub endpoints: Endpoints,
    /// A token with every scope for the user `local`.
    pub token: String,
    _folder: Option<Folder>,
    _services: Services,
}

/// Starts the whole system, which runs until the process ends.
pub async fn start(
    options: &Options,
    time: Arc<dyn Time>,
    given: impl Fn(&str) -> Option<String>,
) -> Result<Dev, StartError> {
    let (folder, keys) = match &options.storage {
        Storage::Memory => (None, Keys::for_now()?),
        Storage::Folder(path) => (Some(Folder::take(path)?), Keys::of_folder(path)?),
    };
    let ports = match options.port {
        0 => (0, 0),
        port => (port.saturating_add(1), port.saturating_add(2)),
    };
    let gateway_listener = listen("the API", options.port)?;
    let services = Services::start(&options.storage, time.clone(), ports).await?;
    // The process that had received these messages is dead: make them visible again.
    services.queues.release_all()?;
    let sdk = services.sdk();
    let own = |name: &str| {
        given(name).or_else(|| match name {
            "SIGNING_KEY" => Some(keys.signing_key.clone()),
            "RUN_TOKEN_KEY" => Some(keys.run_token_key.clone()),
            _ => None,
        })
    };
    let settings = services.prepare(&sdk, own).await?;
    let functions = functions(options, &services, &sdk, &settings, time.clone(), own)?;

    let gateway_url = url(&gateway_listener)?;
    publish_demo(&sdk, &settings, &gateway_url, time.clone()).await?;
    let client = aws_sdk_sqs::Client::new(&sdk);
    let mapping = Mapping::new(client.clone(), &settings.launch_queue_url, functions.clone());
    let ticks = Mapping::of_ticks(client, &settings.tick_queue_url, functions.clone());
    let gateway_listener = TcpListener::from_std(gateway_listener)
        .map_err(|e| StartError::Io("listen for the API".to_owned(), e))?;
    tokio::spawn(mapping.run());
    if !settings.tick_queue_url.is_empty() {
        tokio::spawn(ticks.run());
    }
    let rule = |function, rate| rules::run(functions.clone(), function, time.clone(), rate);
    tokio::spawn(rule(Function::Tick, options.tick));
    tokio::spawn(rule(Function::Recovery, RECOVERY_RATE));
    tokio::spawn(expire(services.database.clone()));
    let token = keys.issuer.issue(LOCAL_USER, &all_scopes(), TTL, time.now())?;
    tokio::spawn(gateway::serve(gateway_listener, functions, time, keys.issuer));
    Ok(Dev {
        url: gateway_url,
        token,
        endpoints: services.endpoints.clone(),
        _folder: folder,
        _services: services,
    })
}

fn functions(
    options: &Options,
    services: &Services,
    sdk: &SdkConfig,
    settings: &Settings,
    time: Arc<dyn Time>,
    given: impl Fn(&str) -> Option<String>,
) -> Result<Functions, StartError> {
    let Some(binaries) = &options.processes else {
        let mut app = App::new(sdk, settings.clone(), time);
        app.metrics = if options.metrics { metrics::to_stdout } else { metrics::to_nowhere };
        return Ok(Functions::Here(Arc::new(app)));
    };
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let chosen = |row: &Row| {
        let value = given(row.name).or_else(|| local_default(row.name).map(str::to_owned));
        Some((row.name.to_owned(), value?))
    };
    let mut environment: Vec<_> = ROWS.iter().filter_map(chosen).collect();
    environment.extend([
        named("LAUNCH_QUEUE_URL", &settings.launch_queue_url),
        named("DEAD_LETTER_QUEUE_URL", &settings.dead_letter_queue_url),
        named("TICK_QUEUE_URL", &settings.tick_queue_url),
        named("AWS_ENDPOINT_URL_DYNAMODB", &services.endpoints.dynamodb),
        named("AWS_ENDPOINT_URL_SQS", &services.endpoints.sqs),
        named("AWS_REGION", REGION),
        named("AWS_ACCESS_KEY_ID", "local"),
        named("AWS_SECRET_ACCESS_KEY", "local"),
        named("RUST_LOG", if options.metrics { "info" } else { "warn" }),
    ]);
    let launchpad = Launchpad { binaries: binaries.clone(), environment, time };
    Ok(Functions::Processes(Arc::new(Processes::start(launchpad)?)))
}

/// Publishes a workflow for trying things out: it runs in this process and logs its input. A
/// published version never changes, so a new port gets a new version.
async fn publish_demo(
    sdk: &SdkConfig,
    settings: &Settings,
    gateway_url: &str,
    time: Arc<dyn Time>,
) -> Result<(), StartError> {
    let problem = |e: belfry_engine::fault::Fault| StartError::Prepare(e.to_string());
    let app = App::new(sdk, settings.clone(), time);
    let Ok(id) = "demo".parse() else { return Ok(()) };
    app.store.claim_workflow(&id, EVERYBODY).await.map_err(problem)?;
    let workflow = Workflow {
        definition: json!({"steps": ["say hello"]}),
        target: Target::Http { url: format!("{gateway_url}{}", gateway::DEMO_PATH) },
        completion: Completion::OnLaunch,
    };
    let newest = app.store.newest_workflow(&id).await.map_err(problem)?;
    let version = match newest {
        Some((_, newest)) if newest == workflow => return Ok(()),
        _ => app.store.next_version(&id).await.map_err(problem)?,
    };
    app.store.publish_workflow(&id, version, &workflow).await.map_err(problem)?;
    Ok(())
}

/// Deletes expired items: the embedded database deletes them only on request.
async fn expire(database: dynoxide::Database) {
    let mut hourly = tokio::time::interval(std::time::Duration::from_secs(3600));
    loop {
        hourly.tick().await;
        let database = database.clone();
        let swept = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
        if let Ok(Err(problem)) = swept {
            tracing::warn!(%problem, "expired items not deleted");
        }
    }
}
