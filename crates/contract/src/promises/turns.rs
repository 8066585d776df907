//! The list of promises of turns.

/// Passes the list of promises of turns to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! turn_promises {
    ($consumer:ident $($argument:path)?) => {
        $crate::$consumer! {
            [$($argument)?]
            record_completed_turn {
                a_completed_turn_is_stored_with_both_messages,
                a_completed_turn_writes_turn_started_and_turn_completed,
                a_new_conversation_is_created_with_its_first_completed_turn,
                completed_turns_are_numbered_without_gaps,
                a_completed_turn_for_another_agent_version_is_stale,
                a_completed_turn_for_another_turn_count_is_stale,
                a_completed_turn_needs_an_existing_agent,
                a_completed_turn_needs_an_existing_conversation,
                a_completed_turn_is_busy_beside_an_open_turn,
            }
            completed_turn_keys {
                the_idempotency_entry_is_stored_with_the_completed_turn,
                the_key_of_a_completed_turn_is_checked_first,
                an_expired_key_can_be_used_again,
            }
            begin_turn {
                a_turn_starts_in_an_idle_conversation,
                a_starting_turn_writes_turn_started,
                a_new_conversation_is_created_with_its_first_turn,
                turns_and_messages_continue_the_numbering,
                a_turn_is_queued_behind_a_running_turn,
                a_turn_that_must_not_queue_is_rejected,
                sixteen_turns_can_be_queued,
                a_turn_does_not_overtake_queued_turns,
                the_idempotency_entry_is_stored_with_the_turn,
            }
            instructions {
                an_instruction_is_answered_without_a_message,
                an_instruction_begins_a_conversation,
                a_queued_instruction_is_promoted_without_a_message,
                a_failed_instruction_is_repeated,
                instructions_are_busy_while_staff_handles_a_conversation,
            }
            output {
                a_schema_and_the_output_are_stored,
            }
            reasoning {
                reasoning_is_stored_with_the_end_of_a_turn,
                reasoning_is_kept_by_turns_that_wait_or_are_cancelled,
            }
            begin_turn_rejections {
                a_turn_with_stale_assumptions_does_not_start,
                a_turn_with_stale_assumptions_can_be_queued,
                a_turn_needs_an_existing_agent,
                a_turn_needs_an_existing_conversation,
                a_turn_needs_a_live_node,
                the_key_of_a_turn_is_checked_first,
            }
            finish_turn {
                a_turn_is_completed_with_its_reply,
                a_turn_is_failed_with_its_problem,
                the_end_of_a_turn_writes_its_event,
                a_turn_is_ended_only_by_its_node,
                a_stored_end_is_confirmed_again,
                a_stored_end_is_confirmed_after_its_conversation_is_deleted,
                a_turn_cannot_end_twice,
                a_removed_node_can_end_its_turn,
            }
            usage {
                turns_that_end_together_have_their_own_usage,
                a_request_to_a_model_is_written_once,
                requests_for_titles_are_stored_with_and_without_a_title,
            }
            claimed_keys {
                a_claimed_key_is_used,
                one_of_many_claims_of_one_key_is_applied,
                the_answer_of_a_claimed_key_is_kept,
                a_key_is_settled_only_by_its_turn,
                a_released_claim_can_be_claimed_again,
                a_claim_needs_a_live_node,
                claims_of_dead_nodes_are_released,
            }
            released_keys {
                a_retryable_failure_releases_the_key,
                a_released_key_is_replayed_to_a_repeated_command_for_a_new_conversation,
                a_released_key_is_reused_in_its_conversation,
                a_released_key_is_reused_by_a_resumption,
                a_released_key_is_reused_by_another_command,
                a_released_key_is_reused_by_a_completed_turn,
                one_of_many_concurrent_turns_reuses_a_released_key,
                a_released_key_expires_after_the_retention_time,
                any_other_end_keeps_the_key,
                a_turn_does_not_release_a_key_that_another_turn_uses,
            }
            message_retries {
                a_retry_answers_the_message_of_the_failed_turn,
                a_completed_retry_answers_the_message_of_the_failed_turn,
                a_failed_retry_can_be_repeated,
                a_retry_behind_another_message_stores_a_new_one,
                another_command_with_a_released_key_stores_a_new_message,
                a_retry_in_another_conversation_stores_a_new_message,
                a_queued_retry_stores_a_new_message,
                a_retry_of_a_superseded_message_stores_a_new_one,
                a_retry_of_a_superseding_turn_answers_its_message,
            }
            supersession {
                a_turn_supersedes_messages_from_a_position,
                a_supersession_writes_messages_superseded_first,
                a_supersession_sets_the_message_count,
                a_message_is_superseded_once,
                a_turn_can_answer_a_stored_message_again,
                a_supersession_beside_an_open_turn_is_busy,
                a_supersession_with_another_turn_count_is_stale,
                a_failed_turn_restores_no_superseded_message,
            }
            turn_queue {
                the_end_of_a_turn_promotes_the_first_queued_turn,
                a_promoted_turn_stores_its_message,
                queued_turns_are_promoted_in_order_of_arrival,
                a_promoted_turn_is_ended_by_its_node,
                turns_queued_by_another_node_are_promoted,
                a_failed_turn_promotes_the_next_one,
                a_draining_node_promotes_no_turn,
                no_turn_is_promoted_to_a_removed_node,
                a_promoted_turn_uses_the_current_version_of_the_agent,
                a_turn_is_promoted_only_within_its_conversation,
                a_promoted_turn_releases_its_own_key,
            }
            cancel_turn {
                a_running_turn_can_be_cancelled,
                a_cancelled_turn_keeps_its_partial_reply,
                a_cancelled_turn_stores_no_empty_message,
                a_cancelled_turn_keeps_its_tool_calls,
                a_queued_turn_can_be_cancelled,
                a_cancellation_promotes_to_the_given_node,
                a_partial_reply_precedes_the_next_message,
                a_cancellation_without_a_node_promotes_no_turn,
                an_ended_turn_cannot_be_cancelled,
                an_unknown_turn_cannot_be_cancelled,
                a_cancelled_turn_cannot_be_completed,
            }
            find_turn {
                a_turn_is_found_with_its_owner,
                a_promoted_turn_keeps_its_owner,
                an_unknown_turn_is_not_found,
            }
            turn_listing {
                turns_are_listed_in_the_order_of_their_beginning,
                turns_are_filtered_by_status,
                turns_with_waiting_calls_are_listed,
                turns_are_listed_for_their_conversation_only,
                the_current_turn_is_running_or_queued_or_the_newest,
            }
            turn_scans {
                turns_are_scanned_by_conditions,
                turns_are_scanned_by_rating,
                waiting_turns_are_scanned_by_what_they_wait_for,
                hidden_calls_wait_for_staff_alone,
                turns_of_deleted_conversations_are_not_scanned,
            }
            turn_scan_length {
                a_scan_looks_at_a_bounded_number_of_turns,
            }
            sweep_repository {
                dead_nodes_are_marked,
                a_node_without_a_lease_marks_no_others,
                dead_nodes_without_turns_are_removed,
                a_marked_node_cannot_begin_turns,
                no_turn_is_promoted_to_a_marked_node,
                turns_in_progress_are_listed_by_node,
                queued_turns_are_listed,
            }
            sweep_candidates {
                a_healthy_tenant_needs_no_sweep,
                tenants_with_turns_of_dead_nodes_need_a_sweep,
                tenants_with_turns_without_a_node_need_a_sweep,
                tenants_with_stuck_queued_turns_need_a_sweep,
                a_queued_turn_can_be_failed,
                only_queued_turns_can_be_failed,
            }
            sweep {
                a_sweep_fails_turns_that_are_lost_twice,
                a_sweep_of_a_healthy_tenant_writes_nothing,
                a_sweep_changes_at_most_the_limit,
                a_sweep_changes_only_its_tenant,
                a_late_end_of_a_swept_turn_is_rejected,
                a_sweep_ignores_deleted_conversations,
            }
            resumed_turns {
                a_sweep_resumes_turns_of_dead_nodes,
                a_sweep_resumes_turns_of_unknown_nodes,
                a_sweep_resumes_turns_without_a_node,
                a_sweep_resumes_turns_that_live_nodes_lost_once,
                a_sweep_resumes_at_most_the_limit,
                a_resumed_turn_is_ended_by_its_new_node,
            }
            waiting_turns {
                a_turn_waits_without_a_node,
                a_turn_goes_on_with_the_last_answer,
                the_first_answer_wins,
                a_turn_that_nobody_answers_expires,
                a_new_message_dismisses_a_waiting_turn,
                a_turn_does_not_wait_before_a_queued_message,
                a_waiting_turn_can_be_cancelled,
                a_waiting_turn_ends_with_its_conversation,
            }
            staff_decisions {
                a_hidden_call_is_not_found,
                a_decision_of_staff_begins_another_turn,
                a_decision_of_staff_waits_for_the_turn_before,
                a_cancelled_continuation_has_its_call,
                a_decision_of_staff_leaves_questions_to_the_user,
                an_edit_dismisses_all_calls_that_wait,
                a_sweep_reports_undecided_calls,
                a_deletion_dismisses_undecided_calls,
                a_turn_does_not_wait_for_staff,
                a_queued_message_dismisses_no_call_of_staff,
                a_cancellation_ends_calls_of_staff,
            }
            turn_steps {
                steps_are_stored_as_given_and_read_in_order,
                steps_that_are_written_twice_are_stored_once,
                the_end_of_a_step_is_final,
                steps_of_a_turn_that_runs_elsewhere_are_not_written,
                steps_of_several_tenants_are_written_together,
                steps_that_waited_for_the_lock_are_not_written_for_a_lost_turn,
                journals_are_purged_with_their_turns,
                a_turn_is_released_by_its_node_alone,
                a_released_turn_is_still_in_progress,
            }
            sweep_queue {
                a_sweep_promotes_the_turn_behind_a_failed_one,
                a_sweep_promotes_a_turn_queued_behind_no_other,
                a_sweep_promotes_in_order_of_arrival,
                a_sweep_promotes_one_turn_per_conversation,
                a_sweep_fails_turns_that_waited_for_too_long,
                a_sweep_promotes_the_next_turn_behind_turns_that_waited_for_too_long,
                a_sweep_without_a_live_node_resumes_and_promotes_no_turn,
                a_sweep_moves_no_time_backwards,
            }
            concurrent_turns {
                one_of_many_completed_turns_on_one_assumption_is_recorded,
                one_turn_runs_at_a_time_however_many_begin_at_once,
                one_key_begins_one_turn_however_often_it_is_used,
                one_key_records_one_completed_turn_however_often_it_is_used,
                either_cancel_or_completion_wins,
                a_turn_is_finished_once_however_often_it_is_sent,
                turns_of_many_conversations_run_at_the_same_time,
            }
            write_groups {
                every_write_of_a_group_has_its_own_outcome,
                an_invalid_write_of_a_group_fails_alone,
            }
            write_conditions {
                rows_are_written_if_every_condition_holds,
                nothing_is_written_under_another_head,
                nothing_is_written_for_a_node_that_is_not_live,
                nothing_is_written_with_a_used_key,
                nothing_is_written_with_a_used_name,
                nothing_is_written_for_a_credential_that_is_not_valid,
                nothing_is_written_for_a_turn_that_runs_elsewhere,
                turns_of_several_tenants_must_be_running,
            }
            unconfirmed_writes {
                an_unconfirmed_turn_is_recorded_once,
                an_unconfirmed_end_returns_the_turn_that_it_has_started,
                an_unconfirmed_cancellation_returns_the_turn_that_it_has_started,
                unconfirmed_changes_are_written_once,
                unconfirmed_steps_are_written_once,
                an_unconfirmed_claim_is_written_once,
            }
            turn_group_values {
                turns_of_a_group_keep_their_own_values,
                retries_of_a_group_answer_their_own_messages,
                messages_of_a_group_are_superseded_or_copied_in_their_own_conversation,
            }
            concurrent_sweeps {
                concurrent_sweeps_fail_and_promote_each_turn_once,
                concurrent_sweeps_resume_each_turn_once,
                concurrent_calls_mark_each_node_once,
                either_a_sweep_or_the_end_wins,
                either_a_sweep_or_a_cancellation_wins,
                no_turn_stays_with_its_node_if_that_is_marked_while_it_begins,
            }
        }
    };
}
