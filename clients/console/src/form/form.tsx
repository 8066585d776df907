import { type components, ProblemError } from "agent-service-client";
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { ErrorNotice } from "../ui/notice.js";
import { type Json, valueAt, withValueAt } from "./json-pointer.js";

export type Fault = components["schemas"]["ProblemFault"];

/** Returns the faults that the service has found in a document. */
export const faultsIn = (error: unknown): Fault[] => (error instanceof ProblemError ? (error.problem.errors ?? []) : []);

/** Returns faults that say why a text is not valid JSON. Only fields of JSON put a string where the service takes none. */
export const withJsonErrors = (faults: readonly Fault[], document: Json): Fault[] =>
  faults.map((fault) => {
    const text = fault.code === "wrong_type" && fault.detail?.includes("object") ? valueAt(document, fault.pointer ?? "") : undefined;
    if (typeof text !== "string") return fault;
    try {
      JSON.parse(text);
      return fault;
    } catch (error) {
      return { ...fault, detail: `is not valid JSON: ${(error as SyntaxError).message}` };
    }
  });

/** Returns the faults of a rejected document at whose pointers nothing has changed since. */
export const useFaults = (error: unknown, document: Json, faultsOf: (error: unknown) => Fault[]): Fault[] => {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the document at the time of the error.
  const rejected = useMemo(() => document, [error]);
  const left = faultsOf(error).filter(({ pointer }) => pointer === undefined || valueAt(rejected, pointer) === valueAt(document, pointer));
  return withJsonErrors(left, document);
};

interface FormContext {
  document: Json;
  set(pointer: string, value: Json | undefined): void;
  /** Returns the service's faults at a pointer, and below it with `isWhole`. */
  faultsAt(pointer: string, isWhole?: boolean): string[];
}

const Context = createContext<FormContext | undefined>(undefined);

interface FormProps {
  document: Json;
  onChange: (document: Json) => void;
  faults: readonly Fault[];
  children: ReactNode;
}

/** Fields that edit one JSON document, each at its pointer, and show the faults that the service found there. */
export const JsonForm = ({ document, onChange, faults, children }: FormProps) => {
  const value = useMemo<FormContext>(
    () => ({
      document,
      set: (pointer, changed) => onChange(withValueAt(document, pointer, changed)),
      faultsAt: (pointer, isWhole = false) =>
        faults
          .filter((fault) => fault.pointer === pointer || (isWhole && fault.pointer?.startsWith(`${pointer}/`)))
          .map((fault) => fault.detail),
    }),
    [document, onChange, faults],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
};

export const useForm = (): FormContext => {
  const context = useContext(Context);
  if (context === undefined) throw new Error("outside of JsonForm");
  return context;
};

/** Returns the value at a pointer, with its faults and a function that replaces it. */
export const useField = (pointer: string, isWhole = false) => {
  const { document, set, faultsAt } = useForm();
  return {
    value: valueAt(document, pointer),
    faults: faultsAt(pointer, isWhole),
    set: (value: Json | undefined) => set(pointer, value),
  };
};

/** The id of the control at a pointer. */
export const controlId = (pointer: string): string => `field${pointer.replace(/\//g, "-")}`;

/** Moves the focus to the control at a pointer, or to the nearest one above it. */
const focusControl = (pointer: string): void => {
  for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const control = window.document.getElementById(controlId(at));
    if (control === null) continue;
    const details = control.closest("details");
    const isClosed = details?.open === false;
    details?.setAttribute("open", "");
    control.focus();
    // The control may exist only from now on.
    if (isClosed && at !== pointer) setTimeout(() => focusControl(pointer), 50);
    return;
  }
};

/** Why a document was rejected: its faults that are left, each with a button that leads to its field, or else the problem. */
export const FormError = ({ error, faults }: { error: unknown; faults: readonly Fault[] }) => {
  if (faults.length > 0) return <FaultSummary faults={faults} />;
  return error === undefined || faultsIn(error).length > 0 ? null : <ErrorNotice error={error} />;
};

/** Returns a pointer for people, who count from 1. */
const nameOf = (pointer: string): string =>
  pointer
    .slice(1)
    .split("/")
    .map((segment) => (/^\d+$/.test(segment) ? Number(segment) + 1 : segment))
    .join(" › ");

const FaultSummary = ({ faults }: { faults: readonly Fault[] }) => (
  <div className="notice danger" role="alert">
    <strong>{faults.length === 1 ? "One field needs" : `${faults.length} fields need`} attention.</strong>
    <ul className="faults">
      {faults.map(({ pointer, parameter, detail }) => (
        <li key={`${pointer}${parameter}${detail}`}>
          {pointer === undefined ? (
            parameter
          ) : (
            <button type="button" className="link" onClick={() => focusControl(pointer)}>
              {nameOf(pointer)}
            </button>
          )}{" "}
          {detail}
        </li>
      ))}
    </ul>
  </div>
);
