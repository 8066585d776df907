//! The published document, read by external tools.

use std::{collections::BTreeSet, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    console::compressed,
    documented::{document, resolved},
    operations,
};

#[test]
fn the_committed_document_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
    let committed = std::fs::read_to_string(path).expect("openapi.json at the root");
    let committed: Value = serde_json::from_str(&committed).expect("JSON");
    // Only the first difference, because the whole diff is too long.
    let difference = first_difference(&committed, document(), String::new());
    assert_eq!(difference, None, "write it with `cargo xtask openapi`");
}

pub(crate) fn first_difference(left: &Value, right: &Value, place: String) -> Option<String> {
    let keys = |value: &Value| -> BTreeSet<String> {
        match value {
            Value::Object(members) => members.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => BTreeSet::new(),
        }
    };
    let (left_keys, right_keys) = (keys(left), keys(right));
    if left_keys != right_keys || left_keys.is_empty() {
        let differ = left_keys != right_keys || left != right;
        return differ.then_some(place);
    }
    left_keys.iter().find_map(|key| {
        let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let (left, right) = (left.pointer(&pointer)?, right.pointer(&pointer)?);
        first_difference(left, right, format!("{place}{pointer}"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_served_document_has_the_address_of_its_server() {
    let api = ApiServer::start().await;
    let mut served = api.anonymous().get("/openapi.json").await.ok();
    let url = format!("http://{}", api.address);
    assert_eq!(served["servers"], json!([{"url": url}]));
    served["servers"] = document()["servers"].clone();
    let flow = "/components/securitySchemes/OAuth2/flows/clientCredentials/tokenUrl";
    let token_url = served.pointer_mut(flow).expect("where tokens are issued");
    assert_eq!(*token_url, json!(format!("{url}/oauth2/token")));
    *token_url = document().pointer(flow).cloned().expect("the same");
    assert_eq!(first_difference(&served, document(), String::new()), None);
    api.stop().await;

    let builder = crate::api_server::ApiServerBuilder::default();
    let api = builder
        .setting("SERVER__PUBLIC_URL", "https://agents.example.org/v")
        .start()
        .await;
    let served = api.anonymous().get("/openapi.json").await.ok();
    assert_eq!(
        served["servers"],
        json!([{"url": "https://agents.example.org/v"}])
    );
    api.stop().await;
}

/// The maximum sizes of the documents in bytes: served without compression, and as committed.
const MAX_BYTES: [(&str, usize, usize); 2] = [
    ("openapi.json", 304 * 1024, 324 * 1024),
    ("asyncapi.json", 132 * 1024, 136 * 1024),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_are_small_and_alone_compressed_with_a_tag_for_each_encoding() {
    let api = ApiServer::start().await;
    for (name, max_served, max_committed) in MAX_BYTES {
        let path = format!("/{name}");
        let plain = api.anonymous().get(&path).await;
        let gzip = compressed(&api, &path).await;
        assert!(
            plain.body.len() <= max_served,
            "{name}: {}",
            plain.body.len()
        );
        assert!(
            gzip.body.len() <= max_served / 5,
            "{name}: {}",
            gzip.body.len()
        );
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let committed = std::fs::metadata(root.join(name)).expect("a file").len();
        assert!(committed <= max_committed as u64, "{name}: {committed}");

        let mut text = Vec::new();
        let mut decoder = GzDecoder::new(&*gzip.body);
        decoder.read_to_end(&mut text).expect("gzip");
        assert_eq!(text, plain.body, "{name}");
        assert_eq!(gzip.header("content-encoding"), "gzip");
        assert!(!plain.has("content-encoding"));
        assert_ne!(plain.header("etag"), gzip.header("etag"));
        for (response, encoding) in [(&plain, "identity"), (&gzip, "gzip")] {
            let vary = response.headers.get_all("vary");
            assert!(vary.iter().any(|it| it == "Accept-Encoding"), "{name}");
            let tag = response.header("etag");
            let request = api.anonymous().request("GET", &path);
            let request = request.header("If-None-Match", tag);
            let again = request.header("Accept-Encoding", encoding).send().await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{name}");
            assert_eq!(again.header("etag"), tag);
            assert!(
                again
                    .headers
                    .get_all("vary")
                    .iter()
                    .any(|it| it == "Accept-Encoding")
            );
        }
        let refused = api.anonymous().request("GET", &path);
        let refused = refused.header("Accept-Encoding", "gzip;q=0").send().await;
        assert_eq!(refused.body, plain.body);
    }
    for path in ["/problems", "/.well-known/oauth-authorization-server"] {
        assert!(
            !compressed(&api, path).await.has("content-encoding"),
            "{path}"
        );
    }
    api.stop().await;
}

#[test]
fn no_response_and_no_parameter_is_described_twice() {
    let mut seen = BTreeSet::new();
    let items = document()["paths"].as_object().expect("paths").values();
    for operation in items.flat_map(|item| item.as_object().expect("an item").values()) {
        let responses = operation["responses"].as_object().expect("responses");
        let parameters = operation["parameters"].as_array().expect("parameters");
        let own = responses.values().chain(parameters);
        for described in own.filter(|it| it["$ref"].is_null()) {
            assert!(seen.insert(described.to_string()), "{described}");
        }
    }
    assert!(seen.len() > 50, "{}", seen.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_sizes_are_documented_and_enforced() {
    let builder = crate::api_server::ApiServerBuilder::default();
    let builder = builder.setting("LIMITS__SIZES__NAME_CHARACTERS", "3");
    let api = builder
        .setting("LIMITS__SIZES__BODY_BYTES", "1024")
        .start()
        .await;
    let served = api.anonymous().get("/openapi.json").await.ok();
    let name = served.pointer("/components/schemas/AgentDraft/properties/name/maxLength");
    assert_eq!(name, Some(&json!(3)));
    let limits = api.reader().get("/api/limits").await.ok();
    assert_eq!(limits["sizes"]["nameCharacters"], 3);
    assert_eq!(limits["sizes"]["bodyBytes"], 1024);
    assert_eq!(limits["bodySeconds"], 15);
    api.agent(json!({"name": "Ada"})).await;
    let response = api
        .writer()
        .post("/api/agents", json!({"name": "Adam"}))
        .await;
    assert_eq!(
        response.faults(),
        [("/name".to_owned(), "too_long".to_owned())]
    );
    let long = json!({"name": "Ada", "personality": "x".repeat(1024)});
    assert_eq!(api.writer().post("/api/agents", long).await.status, 413);
    api.stop().await;
}

#[test]
fn the_document_has_no_nulls_and_no_broken_references() {
    each_value(document(), "", &mut |place, value| {
        let in_example = place.contains("/example") || place.ends_with("/default");
        assert!(!value.is_null() || in_example, "{place} is null");
        if value.get("$ref").is_some_and(Value::is_string) {
            resolved(value);
        }
        let types = value.get("type").and_then(Value::as_array);
        assert!(
            types.is_none_or(|types| types.len() == 2),
            "{place}: one type, or null"
        );
    });
}

fn each_value(value: &Value, place: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(place, value);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                each_value(member, &format!("{place}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_value(item, &format!("{place}/{index}"), visit);
            }
        }
        _ => {}
    }
}

#[test]
fn every_operation_is_described() {
    for operation in operations::all() {
        let described = operation.described;
        for member in ["summary", "operationId"] {
            assert!(
                described[member].is_string(),
                "{} has no {member}",
                operation.id
            );
        }
        assert_eq!(
            described["tags"].as_array().map(Vec::len),
            Some(1),
            "{}",
            operation.id
        );
        for parameter in described["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(parameter);
            assert!(
                parameter["description"].is_string(),
                "{}: {parameter}",
                operation.id
            );
            assert!(
                parameter["schema"].is_object(),
                "{}: {parameter}",
                operation.id
            );
        }
        let in_path = operation.template.matches('{').count();
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let documented = parameters
            .filter(|parameter| resolved(parameter)["in"] == "path")
            .count();
        assert_eq!(in_path, documented, "{}", operation.id);
        for (status, response) in described["responses"].as_object().expect("responses") {
            assert!(
                response["description"].is_string(),
                "{} {status}",
                operation.id
            );
            let (media_type, component) = match status.as_str() {
                _ if operation.template.starts_with("/oauth2/") => ("json", "OAuthError"),
                "429" => ("problem+json", "RateLimitProblem"),
                "409" | "500" | "502" | "503" | "504" if starts_turn(operation.id) => {
                    ("problem+json", "ChatProblem")
                }
                _ => ("problem+json", "Problem"),
            };
            let refusal = &response["content"][format!("application/{media_type}")]["schema"];
            assert_eq!(
                refusal["$ref"] == format!("#/components/schemas/{component}"),
                status.starts_with(['4', '5']),
                "{} {status}",
                operation.id
            );
        }
    }
}

fn starts_turn(operation: &str) -> bool {
    ["chat", "answer_turn"].contains(&operation)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_bodies_are_accepted() {
    let api = ApiServer::start().await;
    for operation in operations::all() {
        let content = operation.described["requestBody"]["content"].as_object();
        for (media_type, body) in content.into_iter().flatten() {
            if media_type == "*/*" {
                // The content of a file is no JSON.
                continue;
            }
            let sample = operations::TestResources::make(&api).await;
            let mut example = body["example"].clone();
            assert!(example.is_object(), "{} has no example", operation.id);
            if example.get("actions").is_some() {
                example["actions"][0]["callId"] = format!("{}-1", sample.waiting).into();
            }
            if example.get("agentId").is_some() {
                example["agentId"] = json!(sample.agent);
            }
            let request = api
                .writer()
                .request(&operation.method, &operation.path(&sample));
            let request = if operation.has_form_body() {
                example["client_id"] = json!(sample.client);
                example["client_secret"] = json!(sample.client_secret);
                let members = example.as_object().expect("an object").iter();
                let parameters: Vec<(&str, &str)> = members
                    .map(|(name, value)| (name.as_str(), value.as_str().expect("text")))
                    .collect();
                request.form(&parameters)
            } else {
                let request = request.header("Content-Type", media_type);
                request.raw_body(example.to_string())
            };
            let response = request.send().await;
            assert_eq!(
                response.status,
                operation.success(),
                "{}: {}",
                operation.id,
                response.text()
            );
        }
    }
    api.stop().await;
}
