import ArgumentParser

struct Cluster: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show and stop the nodes that share a database, renew its generation, and rotate secrets.",
        discussion: """
            Every command requires an administrator token: the one of --key-file, of SCROLLBACK_ADMIN_KEY, or of the \
            data directory. --server can be the URL of any node, or of the load balancer.

            To restart a node, for example with systemd and `Restart=always`:
              scrollback cluster drain n1
              until scrollback cluster status --nodes 3; do sleep 1; done
            """,
        subcommands: [ClusterStatus.self, ClusterDrain.self, ClusterRenewGeneration.self, ClusterRotateSecret.self])
}
