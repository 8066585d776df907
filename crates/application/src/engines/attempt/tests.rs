use super::*;
use crate::engines::engine_breakers::{AttemptBreakers, EngineBreakers, Timeouts};

const LONG_TIMEOUT: Duration = Duration::from_mins(1);

/// The properties of equal attempts.
#[derive(Clone, Copy)]
struct Attempts {
    /// The agent's time-out.
    time: Duration,
    /// True if the time-out ended them.
    was_cut: bool,
    /// True if the engine had begun to reply.
    has_begun: bool,
}

const ATTEMPTS: Attempts = Attempts {
    time: LONG_TIMEOUT,
    was_cut: false,
    has_begun: false,
};

fn breaker() -> AttemptBreakers {
    let tenant = domain::TenantId::DEFAULT.parse().unwrap();
    EngineBreakers::new("llm".to_owned()).of(&tenant, None, Timeouts::Counted)
}

impl Attempts {
    /// Returns whether many of them with this error open the circuit breaker.
    fn open_the_breaker(self, error: impl Fn() -> ReplyError) -> bool {
        let breaker = breaker();
        for _ in 0..100 {
            let Ok(mut permit) = breaker.enter() else {
                break;
            };
            if self.has_begun {
                permit.begin();
            }
            report::<()>(permit, self.time, &failed(error(), self.was_cut));
        }
        breaker.is_open()
    }
}

fn failed(error: ReplyError, was_cut: bool) -> Result<(), FailedAttempt> {
    Err(FailedAttempt { error, was_cut })
}

/// Returns whether many attempts that fail at once with this error open the circuit breaker.
fn opens_the_breaker(error: impl Fn() -> ReplyError) -> bool {
    ATTEMPTS.open_the_breaker(error)
}

#[test]
fn an_engine_that_does_not_work_opens_the_breaker() {
    let limited = || ReplyError::RateLimited { retry_after: None };
    assert!(opens_the_breaker(limited));
    assert!(opens_the_breaker(|| ReplyError::TimedOut));
    let unavailable = || ReplyError::Unavailable("unavailable".into());
    assert!(opens_the_breaker(unavailable));
    let malformed = || ReplyError::InvalidReply("no JSON".into());
    assert!(opens_the_breaker(malformed));
}

#[test]
fn no_agent_can_open_the_breaker_for_all() {
    let rejected = || ReplyError::Rejected("no such model".into());
    assert!(!opens_the_breaker(rejected));
    let empty = || ReplyError::InvalidReply(UnusableReply("no text").into());
    assert!(!opens_the_breaker(empty));
}

#[test]
fn short_timeouts_do_not_count_while_the_engine_replies() {
    let [silent, replying] = [false, true].map(|has_begun| Attempts {
        was_cut: true,
        has_begun,
        ..ATTEMPTS
    });
    assert!(silent.open_the_breaker(|| ReplyError::TimedOut));
    assert!(!replying.open_the_breaker(|| ReplyError::TimedOut));
    let short = Attempts {
        time: Duration::from_millis(9_999),
        ..silent
    };
    assert!(!short.open_the_breaker(|| ReplyError::TimedOut));
}

#[test]
fn an_engine_that_times_out_in_its_reply_opens_the_breaker() {
    let begun = Attempts {
        has_begun: true,
        ..ATTEMPTS
    };
    assert!(begun.open_the_breaker(|| ReplyError::TimedOut));
}

#[test]
fn unusable_replies_are_not_counted_as_successes() {
    let breaker = breaker();
    let empty = ReplyError::InvalidReply(UnusableReply("no text").into());
    let (empty, unavailable) = (
        failed(empty, false),
        failed(ReplyError::Unavailable("unavailable".into()), false),
    );
    for number in 0..100 {
        let Ok(permit) = breaker.enter() else { break };
        let result = if number % 5 == 0 {
            &unavailable
        } else {
            &empty
        };
        report::<()>(permit, LONG_TIMEOUT, result);
    }
    assert!(
        breaker.is_open(),
        "half of the counted attempts have failed"
    );
}

struct Unused;

#[async_trait::async_trait]
impl ReplyEngine for Unused {
    async fn request(&self, _: ModelRequest) -> Result<ports::ModelStream, ReplyError> {
        Err(ReplyError::TimedOut)
    }
}

#[async_trait::async_trait]
impl ports::ToolProvider for Unused {
    fn provided(&self) -> ports::ProvidedTools {
        ports::ProvidedTools::default()
    }

    async fn call(
        &self,
        name: &str,
        _: &ports::ToolArguments,
        _: &ports::ToolContext,
    ) -> Result<String, ports::ToolError> {
        Ok(name.to_owned())
    }
}

/// A step of this engine in an earlier turn.
fn earlier_step(engine: &str) -> Arc<ModelStep> {
    Arc::new(ModelStep {
        response: domain::ModelResponse {
            engine: engine.to_owned(),
            model: None,
            text: String::new(),
            state: Some(Value::Null),
            requests: Vec::new(),
            is_draft: false,
            reasoning: None,
        },
        calls: vec![contract::fixture::tool_step("call")],
    })
}

#[test]
fn earlier_steps_of_another_engine_or_without_tools_are_history() {
    let engine: Arc<dyn ReplyEngine> = Arc::new(Unused);
    let engines = std::collections::BTreeMap::from([("llm".to_owned(), engine)]);
    let engines = crate::engines::Engines::new(engines, "llm".to_owned(), schemas()).unwrap();
    let tool = ports::AgentTool {
        function: "time".to_owned(),
        definition: Arc::new(ports::ToolDefinition {
            name: "time".to_owned(),
            description: String::new(),
            input_schema: Value::Null,
            hints: ports::ToolHints::default(),
        }),
        provider: Some(Arc::new(Unused)),
    };
    for (steps, has_tools, is_kept) in [
        (vec!["llm", "llm"], true, true),
        (vec!["llm"], false, false),
        (vec!["llm", "other"], true, false),
        (vec![""], true, false),
    ] {
        let request = ModelRequest {
            earlier_steps: steps.iter().map(|engine| earlier_step(engine)).collect(),
            tools: if has_tools {
                [tool.clone()].into()
            } else {
                [].into()
            },
            ..contract::reply_engine::request(0)
        };
        let chain = engines.chain(&request.tenant, &request.agent);
        let sent = request_to(&chain[0], &request);
        if is_kept {
            assert_eq!(sent.earlier_steps, request.earlier_steps);
            assert_eq!(sent.history, request.history);
            continue;
        }
        assert!(sent.earlier_steps.is_empty());
        let last = sent.history.last().unwrap();
        let calls = last.calls.as_ref().unwrap();
        assert_eq!(*last.content, *request.message);
        assert_eq!(
            (calls.steps.len(), calls.ending),
            (steps.len(), Some(PastEnding::Replaced))
        );
        assert!(calls.steps.iter().all(|step| step.response.state.is_none()));
    }
}

fn schemas() -> Arc<dyn ports::SchemaChecker> {
    Arc::new(json_schemas::PooledSchemaChecker::new().expect("threads start"))
}
