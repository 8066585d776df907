import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice } from "../ui/notice.js";

type Message = components["schemas"]["Message"];
type Feedback = components["schemas"]["Feedback"];
type Rating = Feedback["rating"];

const LABELS: Record<Rating, string> = { up: "Good", down: "Bad" };

/** Who has rated. */
export const raterOf = ({ userId, principal }: Feedback): string => principal ?? (userId == null ? "user" : `user ${userId}`);

export const RatingBadge = ({ rating }: { rating: Rating }) => (
  <Badge tone={rating === "up" ? "ok" : "danger"}>
    <Icon name={rating === "up" ? "thumbUp" : "thumbDown"} size={14} /> {LABELS[rating]}
  </Badge>
);

/** The ratings of a message by others, and thumbs for one's own. */
export const Ratings = ({ message: { id, conversationId, feedback = [] } }: { message: Message }) => {
  const { service, principal } = useSession();
  const queries = useQueryClient();
  const isOwn = (rated: Feedback) =>
    rated.principal === undefined ? rated.userId != null && rated.userId === principal.userId : rated.principal === principal.id;
  const own = feedback.find(isOwn)?.rating;
  const rate = useMutation({
    mutationFn: async (rating: Rating) => {
      if (rating === own) await service.conversations.deleteFeedback(conversationId, id);
      else await service.conversations.rateMessage(conversationId, id, { rating });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["conversation", conversationId] }),
  });
  const mayRate = useScope("chat:write");
  return (
    <>
      {mayRate &&
        (["up", "down"] as const).map((rating) => (
          <IconButton
            key={rating}
            label={LABELS[rating]}
            aria-pressed={rating === own}
            disabled={rate.isPending}
            onClick={() => rate.mutate(rating)}
          >
            <Icon name={rating === "up" ? "thumbUp" : "thumbDown"} size={14} />
          </IconButton>
        ))}
      {feedback
        .filter((rated) => !mayRate || !isOwn(rated) || rated.comment !== null)
        .map((rated) => (
          <span key={raterOf(rated)} dir="auto">
            <RatingBadge rating={rated.rating} /> {raterOf(rated)}
            {rated.comment != null && `: ${rated.comment}`}
          </span>
        ))}
      {rate.isError && <ErrorNotice error={rate.error} />}
    </>
  );
};
