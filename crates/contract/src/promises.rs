//! The list of all promises, in one place.

/// Expands to one test per promise of a store. `$fixture` is the path (from the crate's root) of
/// an async function whose answer derefs to `ports::Storage`, freshly migrated and empty.
#[macro_export]
macro_rules! storage_contract {
    ($fixture:path) => {
        $crate::storage_promises! { storage_promise_tests $fixture }
    };
}

/// Hands the list of promises to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! storage_promises {
    ($consumer:ident $($argument:path)?) => {
        $crate::$consumer! {
            [$($argument)?]
            agent_repository {
                stores_an_agent_as_it_was_given,
                writes_agent_created_with_its_snapshot,
                refuses_a_duplicate_agent_id,
                a_refused_duplicate_leaves_no_event_and_no_claim,
                records_the_claim_with_the_agent,
                a_used_key_makes_no_second_agent,
                finds_no_agent_that_was_never_made,
                replaces_an_agent_by_its_next_version,
                writes_agent_updated_with_the_new_snapshot,
                refuses_an_update_of_another_version,
                updates_no_agent_that_is_gone,
            }
            agent_listing {
                lists_agents_newest_first,
                tells_whether_more_agents_follow,
                shows_every_agent_once_while_others_come_and_go,
                goes_on_after_an_agent_that_was_deleted_meanwhile,
                finds_names_by_prefix_in_any_case,
                finds_names_by_prefix_in_any_script,
                takes_wildcards_in_a_prefix_literally,
                sorts_names_by_code_point_then_by_id,
                pages_through_equal_names_without_loss,
                finds_prefixes_that_end_at_the_edges_of_unicode,
                lists_agents_by_exact_capability,
                follows_capabilities_through_updates,
                pages_through_a_capability_that_agents_lose_meanwhile,
                lists_no_deleted_agent,
            }
            key_repository {
                stores_a_key_as_it_was_given,
                refuses_a_duplicate_key_id,
                finds_no_key_that_was_never_made,
                stores_the_first_key_only_once,
                stores_no_first_key_after_any_other,
                one_of_eight_racing_first_keys_is_stored,
                lists_keys_newest_first,
                sorts_keys_of_one_moment_by_code_point,
                lists_the_keys_of_one_tenant_only,
                revokes_a_key_from_then_on,
                revocation_raises_the_access_version,
                a_second_revocation_changes_nothing,
                revokes_no_unknown_and_no_foreign_key,
                notes_when_keys_were_used,
                use_never_moves_a_key_backwards,
                notes_the_use_of_unknown_keys_as_nothing,
            }
            tenant_repository {
                a_migrated_store_holds_the_default_tenant,
                makes_a_tenant_with_an_empty_log,
                refuses_a_duplicate_tenant,
                lists_tenants_by_id,
            }
        }
    };
}

/// Makes a test of every promise.
#[doc(hidden)]
#[macro_export]
macro_rules! storage_promise_tests {
    ([$fixture:path] $($module:ident { $($promise:ident,)* })*) => {
        $(mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let fixture = $fixture().await;
                    $crate::$module::$promise(&fixture).await;
                }
            )*
        })*
    };
}

/// Names every promise beside the source of its file.
#[cfg(test)]
#[macro_export]
macro_rules! promise_sources {
    ([] $($module:ident { $($promise:ident,)* })*) => {
        &[$((
            stringify!($module),
            include_str!(concat!(stringify!($module), ".rs")),
            &[$(stringify!($promise)),*],
        )),*]
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    type Listed = (&'static str, &'static str, &'static [&'static str]);

    const LISTED: &[Listed] = crate::storage_promises! { promise_sources };

    fn written(source: &'static str) -> impl Iterator<Item = &'static str> {
        source
            .lines()
            .filter_map(|line| line.strip_prefix("pub async fn "))
            .filter_map(|line| line.split_once('(').map(|(name, _)| name))
    }

    #[test]
    fn every_promise_that_is_written_is_listed_once() {
        for (module, source, listed) in LISTED {
            let listed_names: BTreeSet<_> = listed.iter().copied().collect();
            assert_eq!(listed_names.len(), listed.len(), "a name twice in {module}");
            assert_eq!(listed_names, written(source).collect(), "in {module}");
        }
    }

    #[test]
    fn every_file_of_promises_is_listed() {
        let public = include_str!("lib.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
            .filter(|module| *module != "samples" && *module != "reply_engine");
        let listed = LISTED.iter().map(|(module, ..)| *module);
        assert_eq!(public.collect::<BTreeSet<_>>(), listed.collect());
    }
}
