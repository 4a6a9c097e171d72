import type { UnpackedImage } from "../../lab/images/unpack-image.ts";

/** The permissions and resources of a container, as a pod names them. */
export interface Confinement {
  readonly command: readonly string[];
  /** `user:group`; omitted: the image's. */
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Directories of this machine. */
  readonly mounts?: readonly {
    readonly source: string;
    readonly target: string;
    readonly readOnly?: boolean;
  }[];
  readonly memoryBytes?: number;
  /** It has the network of this machine; otherwise none. */
  readonly hasNetwork?: boolean;
  /** Text for its standard input; omitted: none. */
  readonly input?: string;
}

/** Returns the ids of a `user:group`. */
export function idsOf(user: string): { readonly uid: number; readonly gid: number } {
  const [uid = NaN, gid = NaN] = user.split(":").map(Number);
  return { uid, gid };
}

const hidden = ["nosuid", "noexec", "nodev"];
const systemMounts = [
  { destination: "/proc", type: "proc", source: "proc", options: hidden },
  {
    destination: "/dev",
    type: "tmpfs",
    source: "tmpfs",
    options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
  },
  {
    destination: "/dev/shm",
    type: "tmpfs",
    source: "shm",
    options: [...hidden, "mode=1777", "size=65536k"],
  },
];

/** Returns the configuration of a container in the notation of the OCI runtime specification. */
export function containerSpec({ root, config }: UnpackedImage, confinement: Confinement): object {
  const { command, user = config.User, environment = {}, mounts = [] } = confinement;
  const { uid, gid } = idsOf(user);
  const namespaces = ["pid", "ipc", "uts", "mount"];
  if (confinement.hasNetwork !== true) namespaces.push("network");
  return {
    ociVersion: "1.0.2",
    root: { path: root, readonly: true },
    process: {
      args: [...config.Entrypoint, ...command],
      env: [
        ...config.Env,
        ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      ],
      cwd: "/",
      user: { uid, gid },
      noNewPrivileges: true,
    },
    mounts: [
      ...systemMounts,
      ...mounts.map(({ source, target, readOnly = false }) => ({
        destination: target,
        type: "bind",
        source,
        options: ["bind", readOnly ? "ro" : "rw", "nosuid", "nodev"],
      })),
    ],
    linux: {
      namespaces: namespaces.map((type) => ({ type })),
      ...(confinement.memoryBytes !== undefined && {
        resources: { memory: { limit: confinement.memoryBytes } },
      }),
    },
  };
}
