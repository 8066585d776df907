//! The client address of a request, observed through the address limit.

use crate::{
    address_guard::{assert_rejected, server_with_address_limit},
    api_server::ApiServer,
    response::ApiResponse,
};

async fn ask(api: &ApiServer, headers: &[(&str, &str)]) -> ApiResponse {
    let request = api.anonymous().request("GET", "/problems");
    let with = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    with.send().await
}

/// Asserts that requests with these headers count as one client, and as no other one.
async fn assert_one(api: &ApiServer, spellings: &[&[(&str, &str)]]) {
    let (first, others) = spellings.split_first().expect("at least one");
    ask(api, first).await.ok();
    for same in others.iter().chain([first]) {
        assert_rejected(&ask(api, same).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_header_does_not_set_the_client_address() {
    let api = server_with_address_limit("1").start().await;
    assert_one(
        &api,
        &[
            &[],
            &[("X-Forwarded-For", "198.51.100.1")],
            &[("Forwarded", "for=198.51.100.2")],
            &[("X-Real-IP", "198.51.100.3")],
        ],
    )
    .await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_trusted_proxy_clients_are_distinguished() {
    let api = server_with_address_limit("1")
        .setting("SERVER__TRUSTED_PROXIES", "127.0.0.0/8, ::1, 10.0.0.0/8")
        .start()
        .await;
    assert_one(
        &api,
        &[
            &[("X-Forwarded-For", "198.51.100.1")],
            &[("X-Forwarded-For", "203.0.113.9, 198.51.100.1, 10.1.1.1")],
            &[
                ("X-Forwarded-For", "203.0.113.9"),
                ("X-Forwarded-For", "198.51.100.1:4711"),
            ],
            &[(
                "Forwarded",
                "for=203.0.113.9, for=\"198.51.100.1:80\";proto=https",
            )],
        ],
    )
    .await;
    ask(&api, &[("X-Forwarded-For", "198.51.100.2")]).await.ok();
    // A customer of an IPv6 provider has a /64, not a single address.
    assert_one(
        &api,
        &[
            &[("Forwarded", "for=\"[2001:db8:1:2::1]:4711\"")],
            &[("Forwarded", "for=\"[2001:db8:1:2:ffff::9]\"")],
            &[("X-Forwarded-For", "2001:db8:1:2::77")],
        ],
    )
    .await;
    ask(&api, &[("X-Forwarded-For", "2001:db8:1:3::1")])
        .await
        .ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_client_counts_as_the_proxy() {
    let api = server_with_address_limit("1")
        .setting("SERVER__TRUSTED_PROXIES", "127.0.0.1")
        .start()
        .await;
    assert_one(
        &api,
        &[
            &[],
            &[("X-Forwarded-For", "198.51.100.1, unknown")],
            &[("Forwarded", "for=198.51.100.1, for=_hidden")],
            &[("Forwarded", "for=\"198.51.100.1")],
            &[
                ("X-Forwarded-For", "198.51.100.1"),
                ("Forwarded", "for=198.51.100.2"),
            ],
        ],
    )
    .await;
    api.stop().await;
}
