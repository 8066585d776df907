//! The engine `llm` against servers of language models that nobody here wrote. The service is the
//! built one, with the settings of an operator; `tests/clients` holds the servers.

mod aimock;
mod ground;
mod heavy;
mod litellm;
mod tap;

#[path = "../api/answer.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod answer;
#[path = "../api/caller.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod caller;
#[path = "../api/documented.rs"]
mod documented;
#[path = "../api/harness.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod harness;
#[path = "../api/partner.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod partner;
#[path = "../api/redaction.rs"]
mod redaction;
#[path = "../api/sse_client.rs"]
#[expect(dead_code, reason = "the tests of the interface use the rest")]
mod sse_client;
