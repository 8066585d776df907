//! The list of all promises, in one place; those of turns have a file of their own.

mod turns;

/// Expands to one test per promise of a store. `$fixture` is the path (from the crate's root) of
/// an async function whose answer derefs to `ports::Storage`, freshly migrated and empty.
#[macro_export]
macro_rules! storage_contract {
    ($fixture:path) => {
        $crate::storage_promises! { storage_promise_tests $fixture }
        $crate::turn_promises! { storage_promise_tests $fixture }
    };
}

/// Hands the list of promises, but for those of turns, to another macro of this crate.
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
                goes_on_after_a_position_that_holds_a_nul,
                lists_agents_by_exact_capability,
                follows_capabilities_through_updates,
                pages_through_a_capability_that_agents_lose_meanwhile,
                lists_no_deleted_agent,
            }
            agent_deletion {
                writes_agent_deleted_and_nothing_for_its_conversations,
                a_deleted_agent_is_gone_in_every_method,
                conversations_go_with_their_agent,
                cancels_open_turns_in_the_order_of_their_ids,
                finds_only_turns_that_the_deletion_of_their_agent_cancelled,
                turns_of_a_deleted_agent_end_only_once,
                refuses_to_delete_another_version_of_an_agent,
                deletes_no_agent_that_is_not_there,
                deletes_nothing_of_other_agents,
            }
            conversation_repository {
                stores_a_conversation_as_it_was_given,
                stores_a_conversation_of_nobody,
                stores_a_greeting_as_the_first_message,
                writes_conversation_created,
                makes_no_conversation_without_its_agent,
                records_the_claim_with_the_conversation,
                a_used_key_makes_no_second_conversation,
                finds_no_conversation_that_was_never_made,
                a_head_follows_what_happens_in_its_conversation,
                replaces_title_and_metadata_alone,
                an_update_that_comes_late_moves_no_time_backwards,
                writes_conversation_updated,
                refuses_an_update_of_another_conversation_version,
                updates_a_conversation_only_while_it_is_there,
            }
            conversation_listing {
                lists_conversations_by_latest_activity,
                what_happens_moves_a_conversation_to_the_front,
                filters_conversations_by_agent_and_user,
                tells_whether_more_conversations_follow,
                skips_no_conversation_that_rests_while_others_become_active,
                lists_no_conversation_of_a_deleted_agent,
            }
            conversation_deletion {
                writes_conversation_deleted,
                a_deleted_conversation_is_gone_in_every_method,
                cancels_open_turns_before_the_conversation_goes,
                hides_earlier_turns_of_a_deleted_conversation,
                refuses_to_delete_another_version_of_a_conversation,
                deletes_no_conversation_that_is_not_there,
                deletes_nothing_beside_the_conversation,
            }
            messages {
                keeps_who_said_what_and_when,
                lists_messages_in_both_orders,
                pages_of_messages_stay_right_while_more_is_said,
                a_silent_conversation_has_an_empty_page,
                a_page_of_messages_tells_its_position,
            }
            history {
                shows_the_newest_messages_oldest_first,
                shows_only_what_was_said_before,
                shows_nothing_or_the_default_as_the_limits_say,
                counts_characters_of_whole_messages,
                holds_both_limits,
                shows_nothing_beyond_a_message_that_does_not_fit,
                leaves_out_the_messages_of_failed_turns,
                shows_the_greeting,
            }
            claim_repository {
                tells_keys_apart_by_principal_and_operation,
                finds_a_key_whatever_its_command,
                forgets_keys_after_their_time,
                forgotten_keys_may_be_claimed_by_anything,
            }
            event_log {
                numbers_events_without_a_gap,
                events_have_the_id_of_their_place,
                an_empty_log_has_bounds_too,
                pages_through_the_log,
                a_filtered_page_tells_how_far_it_looked,
                a_page_without_matches_reaches_the_head,
                shows_nothing_at_or_after_the_head,
                tells_the_bounds_of_one_log,
                tells_the_heads_of_all_logs,
                tells_what_changed_and_where,
                a_page_looks_at_ten_thousand_events_at_most,
            }
            page_bytes {
                a_page_of_large_agents_is_short,
                an_agent_larger_than_a_page_is_listed_alone,
                a_page_of_large_conversations_is_short,
                a_page_of_large_messages_is_short,
                a_page_of_large_credentials_is_short,
                a_page_of_large_events_is_short,
                messages_take_room_in_a_page_of_the_log,
                counts_the_events_that_match,
            }
            event_content {
                a_started_turn_is_shown_as_it_started,
                a_completed_turn_is_shown_with_its_answer,
                a_queued_turn_is_shown_as_it_waited,
                a_failed_turn_is_shown_with_its_problem,
                a_cancelled_turn_is_shown_with_what_was_said,
                a_conversation_is_shown_as_it_is,
                a_first_question_is_no_greeting,
                leaves_out_messages_that_are_too_large,
                leaves_out_arguments_that_are_too_large,
                hides_all_of_a_deleted_agent,
                hides_all_of_a_deleted_conversation,
                finds_hidden_events_by_the_same_filters,
            }
            event_filters {
                shows_events_of_some_types,
                shows_events_of_one_agent,
                shows_events_of_one_conversation,
                shows_what_passes_all_filters,
                hides_agents_from_those_who_may_not_read_them,
                shows_own_turns_to_those_who_may_not_read_conversations,
                own_turns_are_told_by_who_asked,
                tells_who_asked,
                the_rule_and_the_page_show_the_same,
                confines_a_user_to_its_own_conversations,
            }
            credential_repository {
                stores_a_key_as_it_was_given,
                stores_a_client_as_it_was_given,
                stores_public_keys_as_they_were_given,
                refuses_a_duplicate_credential_id,
                a_client_has_no_keys_id_and_no_key_a_clients,
                finds_no_credential_that_was_never_made,
                keys_and_clients_are_found_apart,
                lists_credentials_of_a_kind_newest_first,
                notes_when_credentials_were_used,
                use_never_moves_a_credential_backwards,
                notes_the_use_of_unknown_credentials_as_nothing,
            }
            first_key {
                stores_the_first_key_only_once,
                a_first_key_that_could_not_be_shown_does_not_count,
                a_first_key_whose_process_ended_while_it_was_shown_stays_and_does_not_count,
                no_key_is_shown_after_the_first,
                stores_no_first_key_after_any_other,
                a_client_does_not_count_as_the_first_key,
                a_refused_key_does_not_count_as_the_first,
                one_of_eight_racing_first_keys_is_stored,
            }
            credential_claims {
                records_the_claim_with_the_credential,
                a_used_key_makes_no_second_credential,
                a_used_key_is_told_before_a_duplicate_id,
                credentials_are_made_under_keys_that_others_used,
                claims_of_credentials_are_each_tenants_own,
                a_refused_credential_leaves_no_claim,
                one_of_twenty_racing_credentials_with_one_key_is_made,
                many_credentials_are_made_at_once,
            }
            credential_rotation {
                keeps_the_secret_before_until_its_time,
                a_rotation_without_overlap_forgets_the_secret_before,
                a_second_rotation_forgets_the_oldest_secret,
                a_rotation_changes_the_proof_alone,
                rotation_raises_the_access_version,
                rotates_no_revoked_credential,
                rotates_no_credential_that_is_not_there,
                rotates_no_proof_into_the_other_sort,
                replaces_public_keys,
                racing_rotations_follow_each_other,
            }
            rotation_claims {
                records_the_claim_with_the_rotation,
                a_used_key_rotates_nothing,
                a_refused_rotation_leaves_no_claim,
                one_of_twenty_racing_rotations_with_one_key_is_carried_out,
            }
            credential_revocation {
                revokes_a_credential_from_then_on,
                revocation_raises_the_access_version,
                a_second_revocation_changes_nothing,
                revokes_no_credential_that_is_not_there,
            }
            token_repository {
                refuses_a_revoked_token_from_then_on,
                the_first_revocation_of_a_token_raises_the_access_version,
                a_second_revocation_of_a_token_changes_nothing,
                eight_racing_revocations_of_a_token_revoke_it,
                an_assertion_is_used_up_once,
                one_of_eight_racing_uses_of_an_assertion_counts,
            }
            ticket_repository {
                redeems_tickets_as_they_were_given,
                finds_tickets_and_leaves_them,
                redeems_a_ticket_once,
                one_of_eight_racing_redemptions_counts,
                redeems_no_ticket_from_its_end_on,
                redeems_no_ticket_that_was_never_made,
                refuses_a_duplicate_ticket,
            }
            signing_key_repository {
                a_migrated_store_holds_no_signing_key,
                stores_a_signing_key_as_it_was_given,
                lists_signing_keys_newest_first,
                sorts_signing_keys_of_one_moment_by_code_point,
                adds_no_signing_key_unless_the_newest_is_named,
                the_keys_before_a_new_one_end_and_never_later_than_before,
                a_new_signing_key_raises_the_access_version,
                one_of_eight_racing_signing_keys_is_added,
            }
            tenant_repository {
                a_migrated_store_holds_the_default_tenant,
                makes_a_tenant_with_an_empty_log,
                refuses_a_duplicate_tenant,
                tells_whether_a_tenant_exists,
                lists_tenants_by_id,
            }
            node_repository {
                refuses_a_duplicate_node_id,
                renews_a_lease,
                renews_a_lease_that_has_run_out,
                a_node_whose_lease_ran_out_may_begin_turns,
                renews_nothing_for_an_unknown_node,
                forgets_a_node_once_or_twice,
            }
            log_retention {
                removes_events_that_are_older,
                removes_nothing_behind_a_younger_event,
                an_emptied_log_goes_on_numbering,
                a_page_from_before_the_first_event_has_none,
                removes_events_in_chunks,
                trims_the_logs_of_all_tenants,
                readers_never_see_a_hole,
                trims_beside_writers_and_other_trimmers,
            }
            maintenance {
                answers_a_sign_of_life,
                touches_nothing_that_lives,
                removes_what_was_deleted_before,
                removes_a_deleted_conversation_and_keeps_its_agent,
                keeps_what_was_deleted_later,
                touches_what_was_deleted_later_only_once,
                upkeep_emits_no_events,
                removes_old_idempotency_records,
                removes_revoked_tokens_that_ended,
                removes_used_assertions_that_ended,
                removes_tickets_that_ended,
                reads_the_clock_of_the_store,
                removes_signing_keys_that_ended,
                removes_everything_outdated_in_chunks_of_any_size,
            }
            tenant_isolation {
                agents_of_another_tenant_are_not_there,
                conversations_of_another_tenant_are_not_read,
                conversations_of_another_tenant_are_not_touched,
                turns_of_another_tenant_are_not_there,
                nobody_chats_in_another_tenant,
                events_of_another_tenant_are_not_shown,
                credentials_of_another_tenant_are_not_listed,
                credentials_of_another_tenant_are_not_touched,
                idempotency_keys_are_each_tenants_own,
                the_same_ids_in_two_tenants_are_two_things,
            }
            round_trips {
                agents_are_read_back_as_written,
                capabilities_keep_their_order,
                conversations_are_read_back_as_written,
                turns_are_read_back_as_written,
                waiting_texts_are_read_back_as_written,
                moments_are_read_back_as_written,
                ends_of_answers_are_read_back,
            }
            concurrency {
                many_writers_in_many_tenants_leave_no_gap,
                many_writers_in_one_tenant_leave_no_gap,
                a_follower_misses_nothing_beside_many_writers,
                a_reads_position_is_never_later_than_what_it_saw,
                one_of_many_updates_of_one_version_is_carried_out,
                one_of_many_creations_with_one_key_is_carried_out,
                one_of_many_conversations_with_one_key_is_made,
                nothing_is_recorded_behind_a_deletion,
                many_conversations_are_made_at_once,
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
