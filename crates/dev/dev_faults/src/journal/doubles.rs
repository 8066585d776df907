//! Doubles of the model and of two tool servers. The model calls each tool once for an order, unless its
//! request shows that it has.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Result;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    http_double::{Handler, HttpDouble, Request, Response},
    prompt::Prompt,
    record::{Point, ReceivedCall, ReceivedRequest, Record, Tool},
};

/// The text of the user that asks for all calls at once. Otherwise there is a round for each.
pub(super) const AT_ONCE: &str = "at once";

/// The doubles of a laboratory.
pub(super) struct Doubles {
    pub(super) record: Arc<Record>,
    server: HttpDouble,
}

struct Answers(Arc<Record>);

impl Doubles {
    pub(super) async fn start(record: Record) -> Result<Self> {
        let record = Arc::new(record);
        let server = HttpDouble::start(Arc::new(Answers(Arc::clone(&record)))).await?;
        Ok(Self { record, server })
    }

    /// The settings of a service that uses them.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let base = format!("http://{}", self.server.address);
        let minute = "60000".to_owned();
        [
            ("LLM__BASE_URL", format!("{base}/v1")),
            ("LLM__MODEL", "double".to_owned()),
            ("MCP__SERVERS__SHOP__URL", format!("{base}/shop")),
            ("MCP__SERVERS__SHOP__TIMEOUT_MS", minute.clone()),
            ("MCP__SERVERS__STOCK__URL", format!("{base}/stock")),
            ("MCP__SERVERS__STOCK__TIMEOUT_MS", minute),
            ("MCP__SERVERS__STOCK__REPEATABLE", "true".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

impl Handler for Answers {
    async fn respond(&self, request: Request) -> Response {
        let body = match (&*request.method, &*request.path) {
            ("POST", "/v1/chat/completions") => self.complete(&request.body).await,
            ("POST", "/shop" | "/stock") if request.body["id"].is_null() => {
                return Response {
                    status: "202 Accepted",
                    body: Value::Null,
                };
            }
            ("POST", "/shop" | "/stock") => self.serve_tools(&request).await,
            _ => {
                return Response {
                    status: "405 Method Not Allowed",
                    body: Value::Null,
                };
            }
        };
        Response {
            status: "200 OK",
            body,
        }
    }
}

impl Answers {
    /// Answers a request to the model.
    async fn complete(&self, body: &Value) -> Value {
        let prompt = Prompt::read(body);
        let missing: Vec<Tool> = {
            let is_missing = |tool: &Tool| !prompt.called.contains(tool);
            let first = prompt.order.bytes().last().unwrap_or_default();
            let tools = Tool::ALL.into_iter().cycle().skip(usize::from(first) % 3);
            tools.take(3).filter(is_missing).collect()
        };
        self.0.add_request(
            &prompt.order,
            ReceivedRequest {
                at: Instant::now(),
                own_calls: prompt.own_calls,
                succeeded: prompt.succeeded,
                unknown: prompt.unknown,
                faults: prompt.faults,
            },
        );
        let point = Point::Model(prompt.own_calls);
        self.0.pass(&prompt.order, point).await;
        let number = if prompt.is_at_once { 3 } else { 1 };
        let wanted = if prompt.has_tools {
            missing
        } else {
            Vec::new()
        };
        let calls: Vec<_> = wanted.into_iter().take(number).collect();
        completion(&prompt.order, &calls)
    }

    async fn serve_tools(&self, request: &Request) -> Value {
        let message = &request.body;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "double", "version": "1" },
            }),
            Some("tools/list") => json!({ "tools": tools_of(&request.path) }),
            Some("tools/call") => self.call(request).await,
            _ => json!({}),
        };
        json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
    }

    async fn call(&self, request: &Request) -> Value {
        let params = &request.body["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meta = |name: &str| &params["_meta"][format!("agent-service/{name}")];
        let (order, id) = (text(&params["arguments"]["order"]), text(meta("callId")));
        let mut tools = Tool::ALL.into_iter();
        let Some(tool) = tools.find(|tool| params["name"] == tool.name()) else {
            return failure("no such tool");
        };
        if request.headers.get("idempotency-key") != Some(&id) {
            return failure("the key is not the id of the call");
        }
        let number = self.0.add_call(
            &order,
            ReceivedCall {
                tool,
                id: id.clone(),
                attempt: meta("attempt").as_u64().unwrap_or_default(),
                at: Instant::now(),
                answered: None,
            },
        );
        self.0.pass(&order, Point::Call(tool)).await;
        self.0.answer_call(&order, number);
        let text = format!("{} of {order} by call={id};", tool.name());
        json!({ "content": [{ "type": "text", "text": text }] })
    }
}

fn failure(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}

fn tools_of(path: &str) -> Value {
    let tool = |tool: Tool, annotations: Value| {
        json!({
            "name": tool.name(), "description": "A double.", "annotations": annotations,
            "inputSchema": { "type": "object", "properties": { "order": { "type": "string" } } },
        })
    };
    match path {
        "/shop" => json!([
            tool(Tool::Price, json!({ "readOnlyHint": true })),
            tool(Tool::Refund, json!({ "readOnlyHint": false })),
        ]),
        _ => json!([tool(Tool::Reserve, json!({ "readOnlyHint": false }))]),
    }
}

/// A response with these calls, or with the reply.
fn completion(order: &str, calls: &[Tool]) -> Value {
    let tool_calls: Vec<_> = calls
        .iter()
        .map(|tool| {
            json!({
                "id": format!("{}-{order}", tool.name()), "type": "function",
                "function": {
                    "name": tool.function(),
                    "arguments": json!({ "order": order }).to_string(),
                },
            })
        })
        .collect();
    let (message, reason) = if calls.is_empty() {
        let content = format!("Done with {order}.");
        (json!({ "role": "assistant", "content": content }), "stop")
    } else {
        let message =
            json!({ "role": "assistant", "content": "One moment.", "tool_calls": tool_calls });
        (message, "tool_calls")
    };
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "double",
        "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
        "usage": { "prompt_tokens": 20, "completion_tokens": 12, "total_tokens": 32 },
    })
}

/// The tools whose functions a text names as called.
pub(super) fn tools_named(text: &str) -> BTreeSet<Tool> {
    let is_named = |tool: &Tool| text.contains(&format!("[Called {} ", tool.function()));
    Tool::ALL.into_iter().filter(is_named).collect()
}
