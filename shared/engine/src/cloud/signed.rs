//! Signed requests: calls of Lambda, Step Functions, EventBridge and SNS, one operation of each.
//!
//! An SDK crate brings hundreds of operations, which every build compiles and every function
//! carries. These calls use the SDK's own runtime (`aws-smithy-runtime` and `aws-runtime`, which
//! the DynamoDB and SQS clients need anyway): credentials, `aws-sigv4`, retries, time-outs, clock
//! skew, and the HTTP client of the `SdkConfig`. This file has what an SDK crate adds: the
//! endpoint, the shape of the request and the reading of errors.

use aws_config::SdkConfig;
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::auth::{SigV4OperationSigningConfig, SigningOptions};
use aws_runtime::invocation_id::InvocationIdInterceptor;
use aws_runtime::recursion_detection::RecursionDetectionInterceptor;
use aws_runtime::request_info::RequestInfoInterceptor;
use aws_runtime::retries::classifiers::AwsErrorCodeClassifier;
use aws_runtime::service_clock_skew::{
    DisableClockSkewCorrection, ServiceClockSkewClassifier, ServiceClockSkewInterceptor,
};
use aws_runtime::user_agent::{ApiMetadata, UserAgentInterceptor};
use aws_smithy_runtime::client::defaults::{DefaultPluginParams, default_plugins};
use aws_smithy_runtime::client::http::connection_poisoning::ConnectionPoisoningInterceptor;
use aws_smithy_runtime::client::orchestrator;
use aws_smithy_runtime::client::retries::classifiers::{
    HttpStatusCodeClassifier, TransientErrorClassifier,
};
use aws_smithy_runtime::client::stalled_stream_protection::StalledStreamProtectionInterceptor;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::auth::{AuthSchemeOptionResolverParams, SharedAuthScheme};
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::endpoint::{
    EndpointFuture, EndpointResolverParams, ResolveEndpoint,
};
use aws_smithy_runtime_api::client::interceptors::SharedInterceptor;
use aws_smithy_runtime_api::client::interceptors::context::{self, Input, Output};
use aws_smithy_runtime_api::client::orchestrator::{
    HttpRequest, HttpResponse, Metadata, OrchestratorError, SensitiveOutput,
};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugins, StaticRuntimePlugin};
use aws_smithy_runtime_api::client::ser_de::{
    DeserializeResponse, SerializeRequest, SharedRequestSerializer, SharedResponseDeserializer,
};
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::{ConfigBag, Layer};
use aws_smithy_types::endpoint::Endpoint;
use aws_smithy_types::error::ErrorMetadata;
use aws_types::SigningName;
use aws_types::region::SigningRegion;
use aws_types::request_id::RequestId;
use aws_types::service_config::ServiceConfigKey;
use futures::FutureExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// One operation of an AWS service.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The name of the service in `AWS_ENDPOINT_URL_<SERVICE>` and in configuration files.
    service: &'static str,
    /// The first part of the host name, which is also the service name of the signature.
    host: &'static str,
    name: &'static str,
    /// The content type of the bodies; the answer to an `octet-stream` is not read.
    content_type: &'static str,
    /// The `x-amz-target` header, which names the operation to a service with a single path.
    target: Option<&'static str>,
}

/// The operation `Invoke` of Lambda.
pub(crate) const INVOKE: Operation = Operation {
    service: "Lambda",
    host: "lambda",
    name: "Invoke",
    content_type: "application/octet-stream",
    target: None,
};

/// The operation `StartExecution` of Step Functions.
pub(crate) const START_EXECUTION: Operation = Operation {
    service: "SFN",
    host: "states",
    name: "StartExecution",
    content_type: "application/x-amz-json-1.0",
    target: Some("AWSStepFunctions.StartExecution"),
};

/// The operation `PutEvents` of EventBridge.
pub(crate) const PUT_EVENTS: Operation = Operation {
    service: "EventBridge",
    host: "events",
    name: "PutEvents",
    content_type: "application/x-amz-json-1.1",
    target: Some("AWSEvents.PutEvents"),
};

/// The operation `Publish` of SNS.
pub(crate) const PUBLISH: Operation = Operation {
    service: "SNS",
    host: "sns",
    name: "Publish",
    content_type: "application/x-www-form-urlencoded",
    target: None,
};

/// A client for one operation. It connects when it is first used.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    operation: &'static Operation,
    plugins: RuntimePlugins,
}

/// The path, headers and body of one call.
#[derive(Debug)]
pub(crate) struct Call {
    /// The path, percent-encoded.
    path: String,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
}

/// The answer of AWS to a call that succeeded.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The id that the service gave the request.
    pub(crate) request_id: Option<String>,
    /// The body, if it is JSON; otherwise null.
    pub(crate) body: Value,
}

/// Why a call failed: the SDK's kinds of failure, with the service's code and message.
pub(crate) type Error = SdkError<ErrorMetadata, HttpResponse>;

impl Call {
    /// A call to a service that reads the operation from a header, not from the path.
    pub(crate) fn json(body: &Value) -> Call {
        Call { path: "/".to_owned(), headers: Vec::new(), body: body.to_string() }
    }

    /// A call to a service that reads the operation and its parameters from a form.
    pub(crate) fn form(parameters: &[(&str, &str)]) -> Call {
        let pair = |(name, value): &(&str, &str)| format!("{}={}", segment(name), segment(value));
        let body = parameters.iter().map(pair).collect::<Vec<_>>().join("&");
        Call { path: "/".to_owned(), headers: Vec::new(), body }
    }

    /// A call at a path.
    pub(crate) fn at(path: String, body: String) -> Call {
        Call { path, headers: Vec::new(), body }
    }

    /// Adds a header to the call.
    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Call {
        self.headers.push((name, value));
        self
    }
}

/// Characters that need no encoding in a segment of a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a text as one segment of a path. The colons of an ARN are encoded too; otherwise the
/// signature is wrong.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

impl Client {
    /// A client with the credentials, the region, the retry settings and the HTTP client of `sdk`.
    pub(crate) fn new(operation: &'static Operation, sdk: &SdkConfig) -> Client {
        let partition = operation.service.to_ascii_lowercase();
        let partition = match sdk.region() {
            Some(region) => format!("{partition}-{region}"),
            None => partition,
        };
        let behavior = sdk.behavior_version().unwrap_or_else(BehaviorVersion::latest);
        let defaults = DefaultPluginParams::new()
            .with_retry_partition_name(partition)
            .with_behavior_version(behavior)
            .with_is_aws_sdk(true);
        let ours = StaticRuntimePlugin::new()
            .with_config(layer(operation, sdk).freeze())
            .with_runtime_components(components(operation, sdk));
        let plugins = RuntimePlugins::new()
            .with_client_plugins(default_plugins(defaults))
            .with_client_plugin(ours);
        Client { operation, plugins }
    }

    /// Makes the call, and repeats it as the retry settings allow.
    pub(crate) async fn call(&self, call: Call) -> Result<Answer, Error> {
        let (service, name) = (self.operation.service, self.operation.name);
        // Boxed: the future of the SDK's runtime has some kilobytes.
        let called = orchestrator::invoke(service, name, Input::erase(call), &self.plugins).boxed();
        match called.await {
            Ok(output) => output.downcast::<Answer>().map_err(|_| wrong_type()),
            Err(error) => Err(error.map_service_error(|error| {
                error.downcast::<ErrorMetadata>().unwrap_or_else(|_| ErrorMetadata::default())
            })),
        }
    }
}

fn wrong_type() -> Error {
    SdkError::construction_failure("an answer of another operation")
}

/// The configuration that the SDK's runtime reads.
fn layer(operation: &'static Operation, sdk: &SdkConfig) -> Layer {
    let mut layer = Layer::new(operation.name);
    layer
        .store_put(Metadata::new(operation.name, operation.service))
        .store_put(ApiMetadata::new(operation.host, env!("CARGO_PKG_VERSION")))
        .store_put(AuthSchemeOptionResolverParams::new(()))
        .store_put(EndpointResolverParams::new(()))
        .store_put(SharedRequestSerializer::new(Protocol(operation)))
        .store_put(SharedResponseDeserializer::new(Protocol(operation)))
        // Payloads must not appear in any log, not even at trace level.
        .store_put(SensitiveOutput);
    let mut signing_options = SigningOptions::default();
    signing_options.double_uri_encode = true;
    signing_options.normalize_uri_path = true;
    layer.store_put(SigV4OperationSigningConfig {
        region: sdk.region().cloned().map(SigningRegion::from),
        name: Some(SigningName::from_static(operation.host)),
        signing_options,
        ..SigV4OperationSigningConfig::default()
    });
    if let Some(retries) = sdk.retry_config() {
        layer.store_put(retries.clone());
    }
    if let Some(timeouts) = sdk.timeout_config() {
        layer.store_put(timeouts.clone());
    }
    if let Some(protection) = sdk.stalled_stream_protection() {
        layer.store_put(protection);
    }
    if let Some(disabled) = sdk.disable_clock_skew_correction() {
        layer.store_put(DisableClockSkewCorrection::from(disabled));
    }
    if let Some(name) = sdk.app_name() {
        layer.store_put(name.clone());
    }
    layer
}

/// The components that the SDK's runtime calls, the same and in the same order as in a generated
/// client.
fn components(operation: &'static Operation, sdk: &SdkConfig) -> RuntimeComponentsBuilder {
    let scheme = StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID]);
    let mut components = RuntimeComponentsBuilder::new(operation.name)
        .with_http_client(sdk.http_client())
        .with_sleep_impl(sdk.sleep_impl())
        .with_time_source(sdk.time_source())
        .with_identity_cache(sdk.identity_cache())
        .with_endpoint_resolver(Some(Resolver(endpoint(operation, sdk))))
        .with_auth_scheme_option_resolver(Some(scheme))
        .with_auth_scheme(SharedAuthScheme::new(SigV4AuthScheme::new()))
        .with_interceptor(SharedInterceptor::permanent(ConnectionPoisoningInterceptor::new()))
        .with_interceptor(SharedInterceptor::new(ServiceClockSkewInterceptor::new()))
        .with_interceptor(SharedInterceptor::new(RequestInfoInterceptor::new()))
        .with_interceptor(SharedInterceptor::new(UserAgentInterceptor::new()))
        .with_interceptor(SharedInterceptor::new(InvocationIdInterceptor::new()))
        .with_interceptor(SharedInterceptor::permanent(RecursionDetectionInterceptor::new()))
        .with_interceptor(SharedInterceptor::permanent(
            StalledStreamProtectionInterceptor::default(),
        ))
        .with_retry_classifier(HttpStatusCodeClassifier::default())
        .with_retry_classifier(TransientErrorClassifier::<ErrorMetadata>::new())
        .with_retry_classifier(AwsErrorCodeClassifier::<ErrorMetadata>::new())
        .with_retry_classifier(ServiceClockSkewClassifier::<ErrorMetadata>::new());
    if let Some(credentials) = sdk.credentials_provider() {
        components.set_identity_resolver(SCHEME_ID, credentials);
    }
    components
}

/// The URL of an operation's endpoint, or why there is none.
#[derive(Debug)]
struct Resolver(Result<String, &'static str>);

impl ResolveEndpoint for Resolver {
    fn resolve_endpoint<'a>(&'a self, _: &'a EndpointResolverParams) -> EndpointFuture<'a> {
        EndpointFuture::ready(match &self.0 {
            Ok(url) => Ok(Endpoint::builder().url(url.clone()).build()),
            Err(problem) => Err((*problem).into()),
        })
    }
}

/// The URL of the endpoint, in the order of the SDKs: from the code, from the configuration of the
/// service, from the configuration of all services, or else the service's own URL in its region.
fn endpoint(operation: &Operation, sdk: &SdkConfig) -> Result<String, &'static str> {
    let of_all = sdk.endpoint_url().map(str::to_owned);
    let given = if sdk.get_origin("endpoint_url").is_client_config() {
        of_all
    } else {
        let key = ServiceConfigKey::builder()
            .service_id(operation.service)
            .env("AWS_ENDPOINT_URL")
            .profile("endpoint_url")
            .build();
        let of_service = sdk.service_config().zip(key.ok());
        of_service.and_then(|(config, key)| config.load_config(key)).or(of_all)
    };
    let fips = sdk.use_fips().unwrap_or_default();
    let dual_stack = sdk.use_dual_stack().unwrap_or_default();
    match (given, sdk.region()) {
        (Some(_), _) if fips => Err("FIPS cannot be combined with a custom endpoint"),
        (Some(_), _) if dual_stack => Err("dual-stack cannot be combined with a custom endpoint"),
        (Some(url), _) => Ok(url),
        (None, None) => Err("no region is configured"),
        (None, Some(region)) => Ok(regional(operation.host, region.as_ref(), fips, dual_stack)),
    }
}

/// The service's own URL in a region.
fn regional(host: &str, region: &str, fips: bool, dual_stack: bool) -> String {
    let (suffix, dual_stack_suffix) = match region.split('-').collect::<Vec<_>>()[..] {
        ["cn", ..] => ("amazonaws.com.cn", "api.amazonwebservices.com.cn"),
        ["eusc", ..] => ("amazonaws.eu", "api.amazonwebservices.eu"),
        ["us", "iso", ..] => ("c2s.ic.gov", "api.aws.ic.gov"),
        ["us", "isob", ..] => ("sc2s.sgov.gov", "api.aws.scloud"),
        ["eu", "isoe", ..] => ("cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
        ["us", "isof", ..] => ("csp.hci.ic.gov", "api.aws.hci.ic.gov"),
        _ => ("amazonaws.com", "api.aws"),
    };
    // Endpoints that AWS names differently from the general pattern.
    let fips = match (host, region) {
        ("events", "us-gov-east-1" | "us-gov-west-1") => false,
        ("states", "us-gov-west-1") => dual_stack,
        _ => fips,
    };
    let fips = if fips { "-fips" } else { "" };
    let suffix = if dual_stack { dual_stack_suffix } else { suffix };
    format!("https://{host}{fips}.{region}.{suffix}")
}

/// Writes the requests of an operation and reads its answers.
#[derive(Debug)]
struct Protocol(&'static Operation);

impl SerializeRequest for Protocol {
    fn serialize_input(&self, input: Input, _: &mut ConfigBag) -> Result<HttpRequest, BoxError> {
        let call = input.downcast::<Call>().map_err(|_| "not a call")?;
        let length = call.body.len().to_string();
        let mut request = HttpRequest::new(SdkBody::from(call.body));
        request.set_method("POST")?;
        request.set_uri(call.path)?;
        let headers = request.headers_mut();
        headers.insert("content-type", self.0.content_type);
        headers.insert("content-length", length);
        if let Some(target) = self.0.target {
            headers.insert("x-amz-target", target);
        }
        for (name, value) in call.headers {
            headers.insert(name, value);
        }
        Ok(request)
    }
}

impl DeserializeResponse for Protocol {
    fn deserialize_nonstreaming_with_config(
        &self,
        response: &HttpResponse,
        _: &ConfigBag,
    ) -> Result<Output, OrchestratorError<context::Error>> {
        let body = response.body().bytes().unwrap_or_default();
        let read = if !response.status().is_success() {
            Err(problem(response.headers(), body))
        } else if self.0.target.is_none() || body.is_empty() {
            Ok(Value::Null)
        } else {
            serde_json::from_slice(body).map_err(|error| unreadable(&error))
        };
        match read {
            Ok(body) => {
                let request_id = response.request_id().map(str::to_owned);
                Ok(Output::erase(Answer { request_id, body }))
            }
            Err(error) => Err(OrchestratorError::operation(context::Error::erase(error))),
        }
    }
}

/// The error of a service: the code from the header, or else from the body, and the message.
fn problem(headers: &Headers, body: &[u8]) -> ErrorMetadata {
    if body.starts_with(b"<") {
        return xml_problem(&String::from_utf8_lossy(body));
    }
    let body = match body {
        [] => Value::Null,
        body => match serde_json::from_slice(body) {
            Ok(body) => body,
            Err(error) => return unreadable(&error),
        },
    };
    let text = |names: &[&str]| names.iter().find_map(|name| body[*name].as_str());
    let code = headers.get("x-amzn-errortype").or_else(|| text(&["code", "__type"]));
    let mut problem = ErrorMetadata::builder();
    if let Some(code) = code {
        problem = problem.code(bare(code));
    }
    if let Some(message) = text(&["message", "Message", "errorMessage"]) {
        problem = problem.message(message);
    }
    problem.build()
}

/// The error of a service that answers in XML: the texts of `Code` and `Message`.
fn xml_problem(body: &str) -> ErrorMetadata {
    let text = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    let mut problem = ErrorMetadata::builder();
    if let Some(code) = text("Code") {
        problem = problem.code(code);
    }
    if let Some(message) = text("Message") {
        problem = problem.message(message);
    }
    problem.build()
}

/// An error code without its namespace and without the URL that some services append.
fn bare(code: &str) -> &str {
    let code = code.split_once(':').map_or(code, |(code, _)| code);
    code.split_once('#').map_or(code, |(_, code)| code)
}

fn unreadable(error: &serde_json::Error) -> ErrorMetadata {
    ErrorMetadata::builder().message(format!("unreadable answer: {error}")).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::{Arc, Mutex};

    use aws_config::Region;
    use aws_config::retry::RetryConfig;
    use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
    use aws_smithy_async::time::StaticTimeSource;
    use aws_smithy_runtime_api::client::http::{
        HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
    };
    use aws_smithy_runtime_api::client::result::ConnectorError;
    use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
    use aws_smithy_runtime_api::http::StatusCode;
    use aws_types::service_config::LoadServiceConfig;
    use serde_json::json;

    /// An HTTP client that keeps the requests and returns prepared answers; the status 0 means no
    /// answer at all.
    #[derive(Clone, Debug, Default)]
    struct Aws {
        asked: Arc<Mutex<Vec<HttpRequest>>>,
        answers: Arc<Mutex<Vec<(u16, &'static str)>>>,
    }

    impl Aws {
        fn answering(answers: &[(u16, &'static str)]) -> Aws {
            let answers = answers.iter().rev().copied().collect();
            Aws { answers: Arc::new(Mutex::new(answers)), ..Aws::default() }
        }

        fn sdk(&self) -> SdkConfig {
            let token = Some("a-token".to_owned());
            let credentials = Credentials::new("AKID", "a-secret", token, None, "test");
            SdkConfig::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("eu-west-1"))
                .credentials_provider(SharedCredentialsProvider::new(credentials))
                .retry_config(RetryConfig::standard().with_max_attempts(3))
                .time_source(StaticTimeSource::from_secs(1_700_000_000))
                .http_client(self.clone())
                .build()
        }

        fn tries(&self) -> usize {
            self.asked.lock().unwrap().len()
        }
    }

    impl HttpClient for Aws {
        fn http_connector(
            &self,
            _: &HttpConnectorSettings,
            _: &RuntimeComponents,
        ) -> SharedHttpConnector {
            SharedHttpConnector::new(self.clone())
        }
    }

    impl HttpConnector for Aws {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            self.asked.lock().unwrap().push(request);
            let (status, body) = self.answers.lock().unwrap().pop().expect("one call too many");
            HttpConnectorFuture::ready(match StatusCode::try_from(status) {
                Ok(status) => Ok(HttpResponse::new(status, SdkBody::from(body))),
                Err(_) => Err(ConnectorError::io("connection reset".into())),
            })
        }
    }

    const BUSY: (u16, &str) = (400, r#"{"__type": "ThrottlingException", "message": "slow"}"#);

    /// The code and the message of an error that a service returned.
    #[track_caller]
    fn words(answer: Result<Answer, Error>) -> (Option<String>, Option<String>) {
        match answer {
            Err(SdkError::ServiceError(error)) => {
                let owned = |text: Option<&str>| text.map(str::to_owned);
                (owned(error.err().code()), owned(error.err().message()))
            }
            other => panic!("no refusal: {other:?}"),
        }
    }

    /// Calls a prepared AWS. Answers with the result and the number of tries.
    async fn put(answers: &[(u16, &'static str)]) -> (Result<Answer, Error>, usize) {
        let aws = Aws::answering(answers);
        let client = Client::new(&PUT_EVENTS, &aws.sdk());
        let answer = client.call(Call::json(&json!({"Entries": []}))).await;
        (answer, aws.tries())
    }

    #[tokio::test]
    async fn a_call_is_signed_for_its_service_and_region() {
        let aws = Aws::answering(&[(202, "")]);
        let client = Client::new(&INVOKE, &aws.sdk());
        let path = format!("/f/{}", segment("arn:aws:lambda:a/b c"));
        let call = Call::at(path, "{}".to_owned()).header("x-amz-invocation-type", "Event");
        client.call(call).await.unwrap();
        let asked = aws.asked.lock().unwrap();
        let header = |name| asked[0].headers().get(name).unwrap_or_default();
        let url = "https://lambda.eu-west-1.amazonaws.com/f/arn%3Aaws%3Alambda%3Aa%2Fb%20c";
        assert_eq!((asked[0].method(), asked[0].uri()), ("POST", url));
        assert_eq!(header("content-type"), "application/octet-stream");
        assert_eq!(header("content-length"), "2");
        assert_eq!(header("x-amz-invocation-type"), "Event");
        assert_eq!(header("x-amz-target"), "");
        assert_eq!(header("x-amz-date"), "20231114T221320Z");
        assert_eq!(header("x-amz-security-token"), "a-token");
        let scope = "AWS4-HMAC-SHA256 Credential=AKID/20231114/eu-west-1/lambda/aws4_request";
        assert!(header("authorization").starts_with(scope), "{}", header("authorization"));
    }

    #[tokio::test(start_paused = true)]
    async fn throttles_faults_and_lost_connections_are_tried_again() {
        let (answer, tries) = put(&[BUSY, (0, ""), (200, r#"{"FailedEntryCount": 2}"#)]).await;
        assert_eq!((answer.unwrap().body["FailedEntryCount"].as_i64(), tries), (Some(2), 3));
        let (answer, tries) = put(&[(503, "<html>"), (500, ""), BUSY]).await;
        let busy = (Some("ThrottlingException".to_owned()), Some("slow".to_owned()));
        assert_eq!((words(answer), tries), (busy, 3));
        let (answer, tries) = put(&[(0, ""), (0, ""), (0, "")]).await;
        assert!(matches!(answer, Err(SdkError::DispatchFailure(_))) && tries == 3);
    }

    #[tokio::test]
    async fn a_refusal_is_final_and_names_its_code() {
        let refusal = r#"{"__type": "com.amazonaws#NoSuchBus:http://x/", "Message": "none"}"#;
        let (answer, tries) = put(&[(400, refusal)]).await;
        let none = (Some("NoSuchBus".to_owned()), Some("none".to_owned()));
        assert_eq!((words(answer), tries), (none, 1));
    }

    #[tokio::test]
    async fn an_answer_that_is_not_json_is_the_services_fault() {
        for (status, body) in [(200, "<html>"), (400, "<html>"), (400, "")] {
            let (answer, tries) = put(&[(status, body)]).await;
            assert_eq!((words(answer).0, tries), (None, 1), "{status} {body}");
        }
    }

    #[test]
    fn the_code_in_the_header_comes_before_the_one_in_the_body() {
        let mut headers = Headers::new();
        let code = |headers: &Headers, body: &str| {
            problem(headers, body.as_bytes()).code().map(str::to_owned)
        };
        let body = r#"{"__type": "Type", "code": "Code"}"#;
        assert_eq!(code(&headers, body).as_deref(), Some("Code"));
        assert_eq!(code(&headers, r#"{"__type": "Type", "code": 7}"#).as_deref(), Some("Type"));
        assert_eq!(code(&headers, "[]"), None);
        headers.insert("x-amzn-errortype", "Header:http://x/");
        assert_eq!(code(&headers, body).as_deref(), Some("Header"));
    }

    #[test]
    fn every_partition_has_its_own_hosts() {
        let cases = [
            ("lambda", "eu-west-1", "lambda.eu-west-1.amazonaws.com"),
            ("events", "mars-east-1", "events.mars-east-1.amazonaws.com"),
            ("states", "cn-north-1", "states.cn-north-1.amazonaws.com.cn"),
            ("states", "eusc-de-east-1", "states.eusc-de-east-1.amazonaws.eu"),
            ("states", "us-iso-east-1", "states.us-iso-east-1.c2s.ic.gov"),
            ("states", "us-isob-east-1", "states.us-isob-east-1.sc2s.sgov.gov"),
            ("states", "eu-isoe-west-1", "states.eu-isoe-west-1.cloud.adc-e.uk"),
            ("states", "us-isof-south-1", "states.us-isof-south-1.csp.hci.ic.gov"),
            ("events", "us-gov-east-1", "events.us-gov-east-1.amazonaws.com"),
        ];
        for (host, region, wanted) in cases {
            assert_eq!(regional(host, region, false, false), format!("https://{wanted}"));
        }
        let cases = [
            ("lambda", "us-east-1", true, false, "lambda-fips.us-east-1.amazonaws.com"),
            ("lambda", "us-east-1", true, true, "lambda-fips.us-east-1.api.aws"),
            ("events", "cn-north-1", false, true, "events.cn-north-1.api.amazonwebservices.com.cn"),
            ("events", "us-gov-east-1", true, false, "events.us-gov-east-1.amazonaws.com"),
            ("events", "us-gov-east-1", true, true, "events.us-gov-east-1.api.aws"),
            ("states", "us-gov-west-1", true, false, "states.us-gov-west-1.amazonaws.com"),
            ("states", "us-gov-west-1", false, true, "states-fips.us-gov-west-1.api.aws"),
        ];
        for (host, region, fips, dual_stack, wanted) in cases {
            assert_eq!(regional(host, region, fips, dual_stack), format!("https://{wanted}"));
        }
    }

    /// A configuration in which Step Functions has an endpoint of its own.
    #[derive(Debug)]
    struct OwnStates;

    impl LoadServiceConfig for OwnStates {
        fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
            (key.service_id() == "SFN" && key.env() == "AWS_ENDPOINT_URL")
                .then(|| "http://states".to_owned())
        }
    }

    #[test]
    fn an_endpoint_is_the_services_own_or_the_one_of_all_or_the_regions() {
        let sdk =
            |config: &dyn Fn(aws_types::sdk_config::Builder) -> aws_types::sdk_config::Builder| {
                config(Aws::default().sdk().into_builder().service_config(OwnStates)).build()
            };
        let given = sdk(&|sdk| sdk);
        assert_eq!(endpoint(&START_EXECUTION, &given).unwrap(), "http://states");
        let regions = endpoint(&PUT_EVENTS, &given).unwrap();
        assert_eq!(regions, "https://events.eu-west-1.amazonaws.com");
        let all = sdk(&|sdk| sdk.endpoint_url("http://all"));
        assert_eq!(endpoint(&START_EXECUTION, &all).unwrap(), "http://states");
        assert_eq!(endpoint(&PUT_EVENTS, &all).unwrap(), "http://all");
        assert!(
            endpoint(&PUT_EVENTS, &sdk(&|sdk| sdk.endpoint_url("http://all").use_fips(true)))
                .is_err()
        );
        assert!(endpoint(&PUT_EVENTS, &sdk(&|sdk| sdk.region(None))).is_err());
    }
}
