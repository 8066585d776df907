use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use contract::{fixture, reply_engine::request};
use domain::{FinishReason, MessageId};
use futures::{StreamExt as _, future::pending, stream};
use ports::{ModelChunk, ModelRequest, ModelStream, ReplyEngine, ReplyError};
use uuid::Uuid;

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
    let end = ModelChunk::End {
        finish_reason: FinishReason::Stop,
        usage: Some(Usage {
            input_tokens,
            ..Usage::default()
        }),
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
    if let Ok(reply) = replied {
        assert_eq!((&reply.requests, reply.usage), (&requests, usage));
    }
    (requests, usage)
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

fn schemas() -> Arc<dyn ports::SchemaChecker> {
    Arc::new(json_schemas::PooledSchemaChecker::new().expect("threads start"))
}
