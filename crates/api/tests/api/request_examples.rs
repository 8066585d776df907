//! The examples of request bodies, with which Swagger UI fills its forms.

use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    operations::{self, Operation, TestResources},
    response::ApiResponse,
};

const FORM: &str = "application/x-www-form-urlencoded";

/// Operations whose example names something that the reader replaces, and the status until then.
const TO_BE_FILLED_IN: [(&str, u16); 6] = [
    ("answer_turn", 404),
    ("chat", 404),
    ("create_conversation", 404),
    ("introspect_token", 401),
    ("issue_token", 401),
    ("revoke_token", 401),
];

/// Sends a request with this body, to the resource of the path if it has one.
async fn send(
    api: &ApiServer,
    operation: &Operation,
    media_type: &str,
    body: &Value,
) -> ApiResponse {
    let resources = TestResources::make(api).await;
    let request = api
        .writer()
        .request(&operation.method, &operation.path(&resources));
    let request = if media_type == FORM {
        let members = body.as_object().expect("an object").iter();
        let pairs: Vec<_> = members
            .map(|(name, value)| (name.as_str(), value.as_str().expect("a text")))
            .collect();
        request.form(&pairs)
    } else {
        request
            .header("Content-Type", media_type)
            .raw_body(body.to_string())
    };
    request.send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_a_body_works_as_it_is_or_with_the_ids_of_the_reader() {
    let api = ApiServer::start().await;
    let mut sent = 0;
    for operation in operations::all() {
        let contents = operation.described["requestBody"]["content"].as_object();
        for (media_type, content) in contents.into_iter().flatten() {
            if media_type == "*/*" {
                // The content of a file is no JSON.
                continue;
            }
            let mut body = content["example"].clone();
            assert!(body.is_object(), "{} has no example", operation.id);
            let response = send(&api, &operation, media_type, &body).await;
            let until_filled_in = TO_BE_FILLED_IN.iter().find(|it| it.0 == operation.id);
            let expected = until_filled_in.map_or_else(|| operation.success(), |it| it.1);
            assert_eq!(
                response.status,
                expected,
                "{}: {}",
                operation.id,
                response.text()
            );
            if body.get("agentId").is_some() {
                body["agentId"] = json!(api.agent_id().await);
                let response = send(&api, &operation, media_type, &body).await;
                let (status, text) = (response.status, response.text());
                assert_eq!(status, operation.success(), "{}: {text}", operation.id);
            }
            sent += 1;
        }
    }
    assert!(sent >= TO_BE_FILLED_IN.len(), "{sent}");
    api.stop().await;
}
