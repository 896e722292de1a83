#include "ranks/launch.hpp"

#include <map>

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn {
namespace {

using Variables = std::map<std::string, std::string>;

Launch launch(const Variables& variables) {
  return find_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Launch& launch, int ranks, int wanted = 0, const std::string& library = "Some MPI 1") {
  try {
    require_all_ranks(launch, ranks, wanted, library);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Launch, ByHandIsAlone) {
  const Launch by_hand = launch({{"PATH", "/bin"}});
  EXPECT_EQ(by_hand.size, 0);
  EXPECT_FALSE(by_hand.has_mpi);
  EXPECT_EQ(refusal(by_hand, 1), "");
}

TEST(Launch, MpirunAndSrunAreKnown) {
  const Launch open_mpi = launch({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"SLURM_NTASKS", "8"}});
  EXPECT_EQ(open_mpi.size, 4);
  EXPECT_EQ(open_mpi.process, 3);
  EXPECT_TRUE(open_mpi.has_mpi);
  const Launch mpich = launch({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"PMI_FD", "5"}});
  EXPECT_EQ(mpich.size, 2);
  EXPECT_EQ(mpich.process, 1);
  EXPECT_TRUE(mpich.has_mpi);
  const Launch pmix = launch({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(pmix.size, 2);
  EXPECT_EQ(pmix.process, 1);
  EXPECT_TRUE(pmix.has_mpi);
}

// D1: srun without PMI starts N processes that each believe to be rank 0 of 1.
TEST(Launch, D1SingletonsAreRefused) {
  const Launch srun = launch({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}});
  EXPECT_FALSE(srun.has_mpi);
  EXPECT_EQ(srun.process, 2);
  const std::string line = refusal(srun, 1);
  EXPECT_NE(line.find("SLURM_NTASKS=4"), std::string::npos) << line;
  EXPECT_NE(line.find("--mpi=pmix"), std::string::npos) << line;
  EXPECT_NE(line.find("mpirun"), std::string::npos) << line;
  EXPECT_NE(line.find("--ranks 1"), std::string::npos) << line;
  EXPECT_EQ(refusal(srun, 1, 1), "");  // the override
  EXPECT_EQ(refusal(srun, 4), "");
}

TEST(Launch, ALauncherOfAnotherMpiIsRefused) {
  const std::string line = refusal(launch({{"OMPI_COMM_WORLD_SIZE", "4"}}), 1);
  EXPECT_NE(line.find("Some MPI 1"), std::string::npos) << line;
  const std::string without = refusal(launch({{"OMPI_COMM_WORLD_SIZE", "4"}}), 1, 0, "");
  EXPECT_NE(without.find("built without MPI"), std::string::npos) << without;
}

TEST(Launch, OneOfOneIsAlone) {
  EXPECT_EQ(refusal(launch({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_NTASKS", "4"}}), 1), "");
  EXPECT_EQ(refusal(launch({{"SLURM_NTASKS", "1"}}), 1), "");
  EXPECT_EQ(refusal(launch({{"SLURM_NTASKS", "four"}}), 1), "");
}

TEST(Launch, ANumberOfRanksCanBeDemanded) {
  EXPECT_EQ(refusal({}, 4, 4), "");
  EXPECT_NE(refusal({}, 3, 4).find("3 ranks found each other"), std::string::npos);
  EXPECT_NE(refusal({}, 1, 4).find("--ranks 4"), std::string::npos);
}

}  // namespace
}  // namespace pardnn
