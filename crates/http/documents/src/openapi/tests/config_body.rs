use kit::body::Schemas;
use serde_json::json;

use super::document;

#[test]
fn the_body_is_the_configuration_with_the_agents_members_beside_it() {
    let document = document();
    let components = &document["components"]["schemas"];
    let body = &components["ConfigBody"];
    for (member, schema) in components["AgentConfig"]["properties"].as_object().unwrap() {
        assert_eq!(&body["properties"][member], schema);
    }
    assert_eq!(
        body["properties"]["name"],
        components["AgentDraft"]["properties"]["name"]
    );
    assert_eq!(body["properties"]["personality"].get("default"), None);
    assert_eq!(body.get("required"), None);
    assert_eq!(body["additionalProperties"], false);
}

#[test]
fn both_kinds_of_members_are_accepted_and_others_rejected() {
    let schemas = Schemas::new(&document(), &["ConfigBody"]).unwrap();
    let good = json!({"name": "Ada", "capabilities": ["time"], "engine": "rules"});
    assert_eq!(schemas.check("ConfigBody", &good), []);
    assert_eq!(schemas.check("ConfigBody", &json!({})), []);
    let faults = schemas.check("ConfigBody", &json!({"config": {}, "name": "", "llm": 1}));
    let pointers: Vec<&str> = faults.iter().map(|fault| &*fault.pointer).collect();
    assert_eq!(pointers, ["/config", "/llm", "/name"]);
}
