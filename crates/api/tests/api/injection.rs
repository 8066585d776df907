//! Text with a meaning in databases, templates or shells is only text here.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::api_server::{ApiServer, id_of};

const HOSTILE: &[&str] = &[
    "'; drop table agents; --",
    "\" or \"\"=\"",
    "1' union select digest from credentials --",
    "%' and 1=1 --",
    "$1 ?1 :name @p0",
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "{message} {name} {{ name }}",
    "$(id) `id` | id; id && id",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "\\x00 \\u0000 %00",
    "${jndi:ldap://127.0.0.1/a}",
    "*)(uid=*))(|(uid=*",
    "\u{202e}gnitset\u{202c} \u{feff}\u{200b}é",
];

fn agent(text: &str) -> Value {
    json!({
        "name": text,
        "personality": text,
        "capabilities": [text.trim()],
        "config": {
            "instructions": text,
            "greeting": text,
            "fallbackReply": "Hm.",
            "metadata": {"note": text},
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_returned_unchanged() {
    let api = ApiServer::start().await;
    for text in HOSTILE {
        let made = api.agent(agent(text)).await;
        let path = format!("/api/agents/{}", id_of(&made));
        let read = api.reader().get(&path).await.ok();
        assert_eq!(read["personality"], *text);
        assert_eq!(read["config"]["metadata"]["note"], *text);
        let draft = json!({
            "agentId": id_of(&made), "userId": text.trim(), "title": text, "metadata": {"note": text},
        });
        let conversation = api.conversation(draft).await;
        assert_eq!(conversation["title"], *text);
        let command = json!({
            "agentId": id_of(&made), "conversationId": id_of(&conversation), "message": text,
        });
        let reply = api.chat(command).await;
        assert!(reply["message"].is_string());
        let path = format!("/api/conversations/{}/messages", id_of(&conversation));
        let messages = api.reader().get(&path).await.ok();
        assert_eq!(messages["data"][0]["content"], *text, "the greeting");
        assert_eq!(messages["data"][1]["content"], *text, "the question");
    }
    let page = api.reader().get("/api/agents?limit=100").await.ok();
    assert_eq!(page["data"].as_array().map(Vec::len), Some(HOSTILE.len()));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_search_text_matches_only_itself() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    for text in HOSTILE {
        let id = id_of(&api.agent(agent(text)).await);
        for parameter in ["name", "capability"] {
            let value = escaped(text.trim());
            let path = format!("/api/agents?{parameter}={value}");
            let page = api.reader().get(&path).await.ok();
            let found: Vec<&Value> = page["data"].as_array().into_iter().flatten().collect();
            assert_eq!(found.len(), 1, "{parameter}={text}");
            assert_eq!(found[0]["id"], id, "{parameter}={text}");
        }
    }
    api.stop().await;
}

/// Every byte percent-encoded.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        write!(escaped, "%{byte:02X}").expect("a text has room");
    }
    escaped
}
