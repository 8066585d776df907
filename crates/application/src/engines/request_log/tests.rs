use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use contract::{fixture, reply_engine::request};
use domain::{FinishReason, MessageId, ModelResponse, Problem};
use futures::{StreamExt as _, future::pending, stream};
use ports::{ModelChunk, ModelRequest, ModelStream, ReplyEngine, ReplyError};
use rstest::rstest;
use uuid::Uuid;
use writes::Reply;

use super::*;
use crate::engines::{BufferedSink, Engines, ReplySink as _, TurnOrigin, run_engine_chain};

type Response = fn() -> Result<ModelStream, ReplyError>;

/// An engine with the same response to each request.
struct Fixed {
    response: Response,
    is_immediate: bool,
}

#[async_trait]
impl ReplyEngine for Fixed {
    fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    fn model(&self, agent: &Agent) -> Option<String> {
        Some(format!("model of {}", agent.name))
    }

    async fn request(&self, _: ModelRequest) -> Result<ModelStream, ReplyError> {
        (self.response)()
    }
}

fn response(text: &str, input_tokens: i64) -> ModelStream {
    response_of(None, text, input_tokens)
}

/// A response that names its model.
fn response_of(model: Option<&str>, text: &str, input_tokens: i64) -> ModelStream {
    let end = ModelChunk::End {
        finish_reason: FinishReason::Stop,
        usage: Some(Usage {
            input_tokens,
            ..Usage::default()
        }),
        model: model.map(str::to_owned),
        state: None,
    };
    let chunks = [ModelChunk::Text(text.to_owned()), end];
    stream::iter(chunks.map(Ok)).boxed()
}

fn fails_after(text: &str) -> ModelStream {
    let chunks = [
        Ok(ModelChunk::Text(text.to_owned())),
        Err(ReplyError::Unavailable("it broke".into())),
    ];
    stream::iter(chunks).boxed()
}

/// The requests of a reply by engines that are tried in the order of their names, and its usage.
async fn logged(engines: &[(&'static str, Response)]) -> (Vec<RequestUsage>, Option<Usage>) {
    let (replied, requests, usage) = replied(engines).await;
    if let Ok(reply) = replied {
        assert_eq!((&reply.requests, reply.usage), (&requests, usage));
    }
    (requests, usage)
}

async fn replied(
    engines: &[(&'static str, Response)],
) -> (Result<Reply, Problem>, Vec<RequestUsage>, Option<Usage>) {
    let registered = engines.iter().map(|&(name, response)| {
        let is_immediate = name.ends_with("rules");
        let engine: Arc<dyn ReplyEngine> = Arc::new(Fixed {
            response,
            is_immediate,
        });
        (name.to_owned(), engine)
    });
    let by_name: BTreeMap<_, _> = registered.collect();
    let names: Vec<_> = by_name.keys().cloned().collect();
    let engines = Engines::new(by_name, names[0].clone(), schemas()).expect("the default exists");
    let mut request = request(0);
    let agent = Arc::make_mut(&mut request.agent);
    agent.name = "Ada".to_owned();
    agent.config.timeout_ms = Some(20);
    agent.config.fallbacks = Some(names.iter().map(|name| name.as_str().into()).collect());
    let chain = engines.chain(&request.tenant, &request.agent);
    let started_by = fixture::principal();
    let sink = BufferedSink::new(TurnOrigin {
        conversation: fixture::conversation_id(1),
        is_stored: true,
        started_by: &started_by,
        credential: None,
        request_id: None,
    });
    let reply_id = MessageId::new(Uuid::nil());
    let replied = run_engine_chain(reply_id, &chain, &request, None, &sink, None).await;
    let (requests, usage) =
        sink.with_reply(|reply| (reply.requests.to_models(), reply.requests.usage()));
    (replied, requests, usage)
}

fn entry(number: i64, engine: &str, input_tokens: Option<i64>) -> RequestUsage {
    RequestUsage {
        number,
        engine: engine.to_owned(),
        model: Some("model of Ada".to_owned()),
        usage: input_tokens.map(tokens),
    }
}

fn tokens(input_tokens: i64) -> Usage {
    Usage {
        input_tokens,
        ..Usage::default()
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_somebody_may_bill_are_logged() {
    let (requests, usage) = logged(&[
        ("a-limited", || {
            Err(ReplyError::RateLimited { retry_after: None })
        }),
        ("b-empty", || Ok(response("", 3))),
        ("c-refused", || Err(ReplyError::Rejected("no".into()))),
        ("d-silent", || Ok(stream::once(pending()).boxed())),
        ("e-away", || Err(ReplyError::Unavailable("gone".into()))),
        ("f-model", || Ok(response("Hello", 4))),
    ])
    .await;
    let expected = [
        entry(1, "b-empty", Some(3)),
        entry(2, "d-silent", None),
        entry(3, "f-model", Some(4)),
    ];
    assert_eq!(requests, expected);
    assert_eq!(usage, Some(tokens(7)));
}

#[tokio::test]
async fn a_request_that_fails_in_its_response_is_logged() {
    let (requests, usage) = logged(&[("a-model", || Ok(fails_after("Hel")))]).await;
    assert_eq!(requests, [entry(1, "a-model", None)]);
    assert_eq!(usage, None);
}

#[tokio::test]
async fn an_engine_without_a_model_has_usage_but_no_requests() {
    let (requests, usage) = logged(&[("rules", || Ok(response("Hello", 4)))]).await;
    assert_eq!(requests, []);
    assert_eq!(usage, Some(tokens(4)));
}

async fn model_of(engines: &[(&'static str, Response)]) -> Option<String> {
    replied(engines).await.0.expect("a reply").model
}

#[tokio::test]
async fn a_reply_has_the_reported_model_or_else_the_one_that_was_asked_for() {
    let silent = model_of(&[("model", || Ok(response("Hello", 4)))]).await;
    assert_eq!(silent.as_deref(), Some("model of Ada"));
    let named = model_of(&[("model", || Ok(response_of(Some("ada-7"), "Hello", 4)))]).await;
    assert_eq!(named.as_deref(), Some("ada-7"));
    let misnamed = model_of(&[("model", || Ok(response_of(Some("ada\u{7}"), "Hello", 4)))]).await;
    assert_eq!(misnamed.as_deref(), Some("model of Ada"));
    let rules = model_of(&[("rules", || Ok(response_of(Some("ada-7"), "Hello", 4)))]).await;
    assert_eq!(rules, None);
}

#[tokio::test]
async fn a_response_that_is_no_part_of_the_reply_does_not_tell_its_model() {
    let fallback = model_of(&[
        ("a-model", || Ok(response_of(Some("ada-7"), "", 3))),
        ("b-model", || Ok(response_of(Some("bob-8"), "Hello", 4))),
    ]);
    assert_eq!(fallback.await.as_deref(), Some("bob-8"));
    let rules = model_of(&[
        ("a-model", || Ok(response_of(Some("ada-7"), "", 3))),
        ("b-rules", || Ok(response("Hello", 4))),
    ]);
    assert_eq!(rules.await, None);
}

/// A step of a journal, before which a request has failed.
fn step(reported: Option<&str>) -> TurnStep {
    TurnStep::Model(ModelResponse {
        model: reported.map(str::to_owned),
        requests: vec![
            RequestUsage {
                model: Some("another".to_owned()),
                ..entry(1, "llm", None)
            },
            entry(2, "llm", Some(3)),
        ],
        ..ModelResponse::default()
    })
}

#[rstest]
#[case::nothing(&[], None)]
#[case::as_asked(&[step(None)], Some("model of Ada"))]
#[case::as_reported(&[step(Some("ada-7")), step(Some("ada-7"))], Some("ada-7"))]
#[case::several(&[step(Some("ada-7")), step(Some("ada-8"))], None)]
#[case::without_requests_of_its_own(
    &[TurnStep::Model(ModelResponse::default()), step(Some("ada-7"))],
    Some("ada-7")
)]
fn a_resumed_turn_has_the_model_of_its_journal(
    #[case] journal: &[TurnStep],
    #[case] expected: Option<&str>,
) {
    assert_eq!(RequestLog::resumed(journal).model().as_deref(), expected);
}

#[test]
fn a_request_without_a_response_counts_while_it_is_the_last_one() {
    let mut log = RequestLog::resumed(&[step(Some("ada-7"))]);
    log.0.push(LoggedRequest {
        response: None,
        ..log.0[0].clone()
    });
    assert_eq!(log.model(), None);
    log.discard_responses();
    assert_eq!(log.model().as_deref(), Some("another"));
}

fn schemas() -> Arc<dyn ports::SchemaChecker> {
    Arc::new(json_schemas::PooledSchemaChecker::new().expect("threads start"))
}
