//! The list of all promises of a store. The promises of access, conversations and turns are in files of
//! their own.

mod access;
mod conversations;
mod turns;

/// Expands to one test per promise of a store. `$fixture` is the path (from the crate's root) of an
/// async function whose result derefs to an empty, freshly migrated [`crate::Store`].
#[macro_export]
macro_rules! storage_contract {
    ($fixture:path) => {
        $crate::storage_promises! { storage_promise_tests $fixture }
        $crate::access_promises! { storage_promise_tests $fixture }
        $crate::conversation_promises! { storage_promise_tests $fixture }
        $crate::turn_promises! { storage_promise_tests $fixture }
    };
}

/// Passes the list of the other promises to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! storage_promises {
    ($consumer:ident $($argument:path)?) => {
        $crate::$consumer! {
            [$($argument)?]
            agent_repository {
                an_inserted_agent_is_stored_unchanged,
                an_insert_writes_agent_created_with_a_snapshot,
                a_duplicate_agent_id_is_a_conflict,
                a_rejected_duplicate_agent_writes_no_event_and_no_idempotency_entry,
                the_idempotency_entry_is_stored_with_the_agent,
                a_used_key_creates_no_second_agent,
                an_unknown_agent_is_not_found,
                an_update_stores_the_next_version_of_an_agent,
                a_large_agent_is_written_like_a_small_one,
                an_update_writes_agent_updated_with_the_new_snapshot,
                an_update_of_another_agent_version_is_stale,
                a_deleted_agent_cannot_be_updated,
            }
            agent_versions {
                every_version_of_an_agent_is_found,
                versions_of_a_large_agent_are_found,
                versions_of_a_group_keep_their_own_values,
                versions_of_other_tenants_and_deleted_agents_are_not_found,
            }
            agent_listing {
                agents_are_listed_newest_first,
                has_more_is_exact_for_agents,
                every_agent_is_listed_once_during_creations_and_deletions,
                a_listing_continues_after_a_deleted_agent,
                a_listing_continues_after_a_position_with_nul,
                agents_are_listed_by_exact_capability,
                agents_are_listed_by_id,
                a_capability_listing_reflects_updates,
                a_capability_listing_continues_after_agents_lose_the_capability,
                deleted_agents_are_not_listed,
                agents_out_of_reach_take_no_place_on_a_page,
            }
            group_values {
                agents_of_a_group_keep_their_own_values,
                conversations_of_a_group_keep_their_own_values,
                credentials_of_a_group_keep_their_own_values,
            }
            agent_name_listing {
                a_name_prefix_ignores_case,
                a_name_prefix_ignores_case_in_any_script,
                wildcards_in_a_name_prefix_are_literal,
                names_are_sorted_by_code_point_then_by_id,
                agents_with_equal_names_are_all_listed,
                name_prefixes_can_end_at_the_edges_of_unicode,
            }
            agent_deletion {
                a_deletion_writes_agent_deleted_and_no_conversation_events,
                a_deleted_agent_is_not_found_by_any_method,
                conversations_are_deleted_with_their_agent,
                deleting_an_agent_cancels_open_turns_in_the_order_of_their_ids,
                only_turns_cancelled_by_the_deletion_of_their_agent_are_found,
                turns_cancelled_with_their_agent_cannot_end_again,
                deleting_another_version_of_an_agent_is_stale,
                deleting_an_unknown_agent_is_not_found,
                deleting_an_agent_keeps_other_agents,
            }
            idempotency_repository {
                keys_belong_to_one_principal_and_operation,
                a_key_is_found_whatever_its_command,
                keys_expire_after_the_retention_time,
                expired_keys_can_be_used_by_any_operation,
            }
            event_log {
                events_are_numbered_without_gaps,
                the_id_of_an_event_is_derived_from_its_position,
                an_empty_log_has_bounds_too,
                the_log_is_read_in_pages,
                a_filtered_page_has_the_scanned_position,
                a_page_without_matches_reaches_the_head,
                a_page_at_or_after_the_head_is_empty,
                bounds_are_those_of_one_log,
                heads_are_those_of_all_logs,
                changes_have_the_type_and_ids_of_events,
                a_page_scans_at_most_ten_thousand_events,
            }
            page_bytes {
                a_page_of_large_agents_is_short,
                an_agent_larger_than_a_page_is_listed_alone,
                a_page_of_large_conversations_is_short,
                a_page_of_large_messages_is_short,
                a_page_of_large_turns_is_short,
                a_page_of_large_credentials_is_short,
                a_page_of_large_events_is_short,
                messages_count_towards_the_size_of_a_page_of_the_log,
                matching_events_are_counted,
            }
            event_content {
                a_started_turn_is_shown_as_it_started,
                a_completed_turn_is_shown_with_its_reply,
                a_queued_turn_is_shown_as_it_was_queued,
                a_failed_turn_is_shown_with_its_problem,
                a_cancelled_turn_is_shown_with_its_partial_reply,
                a_conversation_is_shown_in_its_current_state,
                a_first_message_of_a_user_is_no_greeting,
                large_messages_are_omitted_from_events,
                large_arguments_and_results_are_omitted_from_events,
                events_tell_users_nothing_of_the_size_of_hidden_calls,
            }
            hidden_events {
                events_of_a_deleted_agent_are_hidden,
                events_of_a_deleted_conversation_are_hidden,
                hidden_events_pass_the_same_filters,
            }
            event_filters {
                events_are_filtered_by_type,
                events_are_filtered_by_agent,
                events_of_agents_out_of_reach_are_hidden,
                events_are_filtered_by_conversation,
                all_event_filters_must_match,
                agent_events_need_the_permission_to_read_agents,
                own_turns_are_visible_without_the_permission_to_read_conversations,
                own_turns_are_those_that_the_principal_started,
                events_have_the_principal_that_started_the_turn,
                pages_follow_the_visibility_rule,
                a_user_sees_only_events_of_its_own_conversations,
            }
            tenant_repository {
                a_migrated_store_has_the_default_tenant,
                a_new_tenant_has_an_empty_log,
                a_duplicate_tenant_is_a_conflict,
                only_created_tenants_exist,
                tenants_are_listed_by_id,
            }
            node_repository {
                a_duplicate_node_id_is_a_conflict,
                a_valid_lease_can_be_renewed,
                an_expired_lease_can_be_renewed,
                a_node_with_an_expired_lease_may_begin_turns,
                live_nodes_are_counted,
                the_lowest_level_of_all_nodes_is_known,
                live_nodes_are_listed,
                running_turns_are_listed,
                nodes_of_far_regions_are_listed_and_not_counted,
                an_unknown_node_has_no_lease,
                deleting_a_node_can_be_repeated,
            }
            log_retention {
                only_older_events_are_removed,
                old_events_behind_a_younger_one_are_kept,
                an_emptied_log_continues_its_numbering,
                a_page_from_before_the_first_event_is_empty,
                events_are_removed_in_chunks,
                the_logs_of_all_tenants_are_trimmed,
                readers_never_see_a_gap,
                trimming_is_correct_during_writes_and_other_trimming,
            }
            maintenance {
                ping_succeeds_on_a_working_store,
                a_purge_keeps_live_data,
                a_compaction_keeps_live_data,
                a_purge_removes_data_deleted_earlier,
                a_purge_removes_a_deleted_conversation_and_keeps_its_agent,
                a_purge_keeps_data_deleted_later,
                a_purge_marks_data_deleted_later_only_once,
                a_purge_writes_no_events,
                now_is_the_time_of_the_store,
                a_purge_removes_all_outdated_data_in_chunks_of_any_size,
            }
            followers {
                a_follower_is_run_by_one_node_with_a_lease,
                a_position_moves_only_from_the_one_before,
                one_of_many_steps_from_a_position_is_taken,
            }
            search_index {
                entries_are_found_by_words_and_phrases,
                phrases_are_found_in_texts_of_any_length,
                entries_are_found_in_their_scopes,
                a_search_continues_after_a_place,
                entries_with_equal_orders_are_all_found,
                a_step_replaces_and_removes_messages,
                a_step_from_another_position_writes_nothing,
                entries_are_removed_in_parts,
            }
            tenant_isolation {
                agents_of_another_tenant_are_not_found,
                conversations_of_another_tenant_are_not_read,
                conversations_of_another_tenant_are_not_changed,
                turns_of_another_tenant_are_not_found,
                agents_and_conversations_of_another_tenant_cannot_be_used_in_chats,
                events_of_another_tenant_are_not_shown,
            }
            round_trips {
                agents_are_read_back_as_written,
                capabilities_keep_their_order,
                conversations_are_read_back_as_written,
                turns_are_read_back_as_written,
                messages_of_queued_turns_are_read_back_as_written,
                times_are_read_back_as_written,
                finish_reasons_are_read_back_as_written,
            }
            concurrency {
                many_writers_in_many_tenants_leave_no_gap,
                many_writers_in_one_tenant_leave_no_gap,
                a_reader_misses_no_event_during_many_writes,
                the_position_of_a_read_is_never_later_than_its_state,
            }
            concurrent_creations {
                one_of_many_updates_of_one_version_is_applied,
                one_of_many_creations_with_one_key_is_applied,
                one_of_many_conversations_with_one_key_is_created,
                no_turn_is_recorded_after_a_deletion,
                many_conversations_can_be_created_at_once,
            }
        }
    };
}

/// Expands to a test of every promise.
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
