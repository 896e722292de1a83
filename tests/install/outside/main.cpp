// A program of somebody else: reads a graph, places it, judges the placement again.
#include <pardnn/emulate.hpp>
#include <pardnn/graph.hpp>
#include <pardnn/io.hpp>
#include <pardnn/machine.hpp>
#include <pardnn/partition.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 3;
  const pardnn::Graph graph(pardnn::read_graph_data(argv[1]));
  const pardnn::Machine machine = pardnn::homogeneous_machine(2);
  pardnn::Options options;
  options.preset = pardnn::Preset::fast;
  options.threads = 1;
  const pardnn::Result result = pardnn::partition(graph, machine, options);
  const pardnn::Evaluation again = pardnn::evaluate(graph, machine, result.placement, options.policy);
  std::printf("%lld nodes, makespan %lld ns\n", static_cast<long long>(graph.num_nodes()), static_cast<long long>(again.makespan));
  return result.evaluation.feasible && again.makespan == result.evaluation.makespan ? 0 : 1;
}
