import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session.js";

/** The engines and the capabilities of the service. */
export const useCatalogue = () => {
  const { service } = useSession();
  const engines = useQuery({ queryKey: ["engines"], queryFn: () => service.engines.list() }).data?.data ?? [];
  const capabilities = useQuery({ queryKey: ["capabilities"], queryFn: () => service.capabilities.list() }).data?.data ?? [];
  return { engines, capabilities };
};
