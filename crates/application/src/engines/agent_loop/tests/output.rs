//! Tests of replies by a schema, to servers that refuse it.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use contract::fixture;
use domain::{MessageId, Problem, ProblemCode, ResponseSchema};
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use ports::{AgentTool, ModelRequest, ModelStream, ReplyEngine, ReplyError, ToldCause};
use serde_json::json;
use writes::Reply;

use super::fixture::{FakeTools, READ_ONLY, call, hint, request_with, response, schemas, text};
use crate::engines::{
    BufferedSink, Candidate, Engines, ReplySink as _, TurnOrigin, run_engine_chain,
};

/// The requests with a schema that a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refuses {
    Nothing,
    BesideTools,
    Always,
}

/// A model that calls a tool once, then replies by text, and by JSON where it is asked for JSON.
struct Model {
    refuses: Refuses,
    requests: Mutex<Vec<ModelRequest>>,
}

#[async_trait]
impl ReplyEngine for Model {
    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        self.requests.lock().push(request.clone());
        let has_schema = request.response_schema.is_some();
        let is_refused = match self.refuses {
            Refuses::Nothing => false,
            Refuses::BesideTools => !request.tools.is_empty(),
            Refuses::Always => true,
        };
        if has_schema && is_refused {
            return Err(ReplyError::Rejected(ToldCause("400".to_owned()).into()));
        }
        let wants_json = has_schema || request.message.contains("JSON");
        let chunk = match (&*request.tools, request.steps.len()) {
            ([AgentTool { function, .. }, ..], 0) if request.may_call => call(function, "{}"),
            _ if wants_json => text("{\"time\": \"noon\"}"),
            _ => text("It is noon."),
        };
        Ok(stream::iter(response(&[chunk]).into_iter().map(Ok)).boxed())
    }
}

struct Chain {
    model: Arc<Model>,
    candidates: Vec<Candidate>,
    request: ModelRequest,
}

impl Chain {
    fn new(refuses: Refuses, tools: &[&str]) -> Self {
        let model = Arc::new(Model {
            refuses,
            requests: Mutex::default(),
        });
        let mut request = request_with(&Arc::<FakeTools>::default(), tools);
        for tool in tools {
            hint(&mut request, tool, READ_ONLY);
        }
        let schema = json!({"type": "object", "required": ["time"]});
        request.response_schema = Some(serde_json::from_value(schema).unwrap());
        let engine: Arc<dyn ReplyEngine> = Arc::<Model>::clone(&model);
        let by_name = BTreeMap::from([("model".to_owned(), engine)]);
        let engines = Engines::new(by_name, "model".to_owned(), schemas()).unwrap();
        let candidates = engines.chain(&request.tenant, &request.agent);
        Self {
            model,
            candidates,
            request,
        }
    }

    /// Replies, and returns the reply with the requests since the last one.
    async fn reply(&self) -> (Result<Reply, Problem>, Vec<ModelRequest>) {
        let started_by = fixture::principal();
        let sink = BufferedSink::new(TurnOrigin {
            conversation: fixture::conversation_id(1),
            is_stored: false,
            started_by: &started_by,
            credential: None,
            request_id: None,
        });
        let id = MessageId::new(uuid::Uuid::nil());
        let reply = run_engine_chain(id, &self.candidates, &self.request, None, &sink, None).await;
        let shown = sink.with_reply(|reply| reply.text.clone());
        let stored = reply.as_ref().map_or("", |reply| reply.content.as_str());
        assert_eq!(shown, stored, "only the reply goes out");
        (reply, std::mem::take(&mut *self.model.requests.lock()))
    }
}

/// For each request, true if it has a schema, and the number of its tools.
fn shape(requests: &[ModelRequest]) -> Vec<(bool, usize)> {
    let shape = |it: &ModelRequest| (it.response_schema.is_some(), it.tools.len());
    requests.iter().map(shape).collect()
}

#[tokio::test]
async fn the_schema_is_in_every_request() {
    let chain = Chain::new(Refuses::Nothing, &["time"]);
    let (reply, requests) = chain.reply().await;
    let reply = reply.unwrap();
    assert_eq!(reply.output, Some(json!({"time": "noon"})));
    assert!(!reply.repaired);
    assert_eq!(shape(&requests), [(true, 1), (true, 1)]);
}

#[tokio::test]
async fn a_schema_that_is_refused_beside_tools_is_for_one_request_without_them() {
    let chain = Chain::new(Refuses::BesideTools, &["time"]);
    let (reply, requests) = chain.reply().await;
    assert_eq!(reply.unwrap().output, Some(json!({"time": "noon"})));
    assert_eq!(
        shape(&requests),
        [(true, 1), (false, 1), (false, 1), (true, 0)]
    );
    let formatting = &requests[3];
    assert!(formatting.steps.is_empty() && !formatting.may_call);
    let contents: Vec<_> = formatting.history.iter().map(|it| &*it.content).collect();
    assert_eq!(contents, [&*chain.request.message, "It is noon."]);
    let calls = formatting.history[1].calls.as_ref().unwrap();
    assert_eq!(calls.steps[0].calls[0].name, "time");

    // It is remembered.
    let (reply, requests) = chain.reply().await;
    assert!(reply.unwrap().output.is_some());
    assert_eq!(shape(&requests), [(false, 1), (false, 1), (true, 0)]);
}

#[tokio::test]
async fn a_schema_that_is_always_refused_is_sent_as_text() {
    for tools in [&["time"][..], &[]] {
        let chain = Chain::new(Refuses::Always, tools);
        let (reply, _) = chain.reply().await;
        assert_eq!(reply.unwrap().output, Some(json!({"time": "noon"})));
        let (reply, requests) = chain.reply().await;
        assert!(reply.unwrap().output.is_some());
        assert!(requests.iter().all(|it| it.response_schema.is_none()));
        let formatting = requests.last().unwrap();
        assert!(formatting.tools.is_empty());
        assert!(
            formatting.message.contains(r#""required":["time"]"#),
            "{}",
            formatting.message
        );
    }
}

#[tokio::test]
async fn a_reply_that_stays_invalid_is_the_failure_of_the_turn() {
    let chain = Chain::new(Refuses::Nothing, &[]);
    let schema = json!({"type": "string"});
    let mut wrong = chain.request.clone();
    wrong.response_schema = serde_json::from_value::<ResponseSchema>(schema).ok();
    let chain = Chain {
        request: wrong,
        ..chain
    };
    let (reply, requests) = chain.reply().await;
    let problem = reply.unwrap_err();
    assert_eq!(
        (problem.code, problem.retryable),
        (ProblemCode::InvalidOutput, true)
    );
    assert_eq!(problem.errors[0].pointer.as_deref(), Some(""));
    assert_eq!(shape(&requests), [(true, 0), (true, 0)]);
}
