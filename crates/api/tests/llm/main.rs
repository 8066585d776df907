//! The engine `llm` against real servers of language models. The service is the built one with an
//! operator's settings; `tests/clients` contains the servers.

mod aimock;
mod anthropic;
mod fixture;
mod heavy;
mod litellm;
mod proxy;

#[path = "../api/api_server.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod api_server;
#[path = "../api/caller.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod caller;
#[path = "../api/child_program.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod child_program;
#[path = "../api/documented.rs"]
mod documented;
#[path = "../api/redaction.rs"]
mod redaction;
#[path = "../api/response.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod response;
#[path = "../api/sse_client.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod sse_client;
#[path = "../../../adapters/engines/llm_engine/tests/engine/upstream/mod.rs"]
#[expect(dead_code, reason = "the tests of the engine use the rest")]
mod upstream;
