import type { ComponentType, VNode } from "preact";
import { LoadedView, useLoaded } from "./loaded-view.tsx";

interface LazyProps<P extends object> {
  /** Fetches the code of the component; the same function each time. */
  readonly load: () => Promise<ComponentType<P>>;
  readonly props: P;
}

/** Shows a component whose code is fetched when it is needed. */
export function Lazy<P extends object>({ load, props }: LazyProps<P>): VNode {
  const code = useLoaded(load);
  return (
    <LoadedView of={code} what="this page">
      {(Component) => <Component {...props} />}
    </LoadedView>
  );
}
